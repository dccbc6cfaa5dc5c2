"""Looks at a page in headless Chromium with scripts off, on a screen and on a phone, light and dark; prints JSON.

Usage: browse.py CHROMIUM PAGE FOLDER: screenshots go to FOLDER.
"""

import json
import pathlib
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SIZES = {"screen": (1200, 900), "phone": (390, 844)}


def look(browser, page_url, folder, size, scheme):
    width, height = SIZES[size]
    seen = {"problems": []}
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=1,
        java_script_enabled=False,
    )
    page = context.new_page()
    page.on("console", lambda message: seen["problems"].append(message.text))
    page.on("request", lambda request: seen.setdefault("requests", []).append(request.url))
    page.goto(page_url)
    page.screenshot(path=folder / f"{size}-{scheme}.png", full_page=True)
    seen["text"] = page.locator("body").inner_text()
    seen["outline"] = page.locator("body").aria_snapshot()
    box = page.locator("html").bounding_box()
    wide = page.locator("body *:not(pre *, thead, thead *, .skip)").all()
    right = max(box["x"] + box["width"] for box in (one.bounding_box() for one in wide) if box)
    seen["overflow"] = max(0, right - width, box["width"] - width)
    context.close()
    return seen


def audit(browser, page_url, size, scheme):
    """The findings of axe-core, which needs scripts of its own."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(page_url)
    results = Axe().run(page).response
    context.close()
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in results["violations"]
        for node in one["nodes"]
    ]


def main():
    chromium, page_url, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        views = {}
        for size in SIZES:
            for scheme in ("light", "dark"):
                view = look(browser, page_url, folder, size, scheme)
                view["axe"] = audit(browser, page_url, size, scheme)
                views[f"{size}-{scheme}"] = view
        browser.close()
    print(json.dumps(views))


main()
