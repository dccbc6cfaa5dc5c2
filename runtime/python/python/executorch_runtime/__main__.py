"""The command `executorch-runtime`."""

import sys

from executorch_runtime._cli import main

if __name__ == "__main__":
    sys.exit(main())
