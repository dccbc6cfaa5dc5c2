"""Reads the page of a project through pypi-simple, from HTML and from JSON, and prints what it says as JSON."""

import json
import sys

import pypi_simple


def said(base, project, accept):
    with pypi_simple.PyPISimple(base, accept=accept) as client:
        page = client.get_project_page(project)
        return {
            "projects": sorted(client.get_index_page().projects),
            "version": page.repository_version,
            "versions": page.versions,
            "files": [
                {
                    "filename": file.filename,
                    "url": file.url,
                    "digests": file.digests,
                    "requires_python": file.requires_python,
                    "metadata": file.metadata_digests,
                    "yanked": file.yanked_reason if file.is_yanked else None,
                    "size": file.size,
                    "uploaded": file.upload_time and file.upload_time.isoformat(),
                }
                for file in page.packages
            ],
        }


base, project = sys.argv[1:]
forms = {"html": pypi_simple.ACCEPT_HTML_ONLY, "json": pypi_simple.ACCEPT_JSON_ONLY}
print(json.dumps({name: said(base, project, accept) for name, accept in forms.items()}))
