"""Validates a CycloneDX 1.6 JSON document with the CycloneDX project's own library and schema."""

import json
import sys
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> None:
    """Prints what the document has, or ends with the first thing that is wrong with it."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        sys.exit(f"not valid: {error.data.json_path}: {error.data.message}")
    bom = Bom.from_json(json.loads(text))
    # Fails where a dependency names what is no component.
    bom.validate()
    print(f"valid: {len(bom.components)} components, {len(bom.dependencies)} dependencies")


if __name__ == "__main__":
    main()
