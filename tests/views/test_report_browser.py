"""The HTML report in a real browser: headless Chromium, driven by Selenium, opening the page from a file.

Runs where Chromium and its driver are installed (Debian and Ubuntu: `apt-get install chromium chromium-driver`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.views.report import report_html
from tests.views.generated import sweep
from tests.views.test_report_page import attacked, attacked_environment

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs Chromium and its driver: apt-get install chromium chromium-driver"
)

RESULT = sweep("gpubench:auto", "gpubench:naive", "numpy", dtypes=("float32",))
ROWS = "Array.from(document.querySelectorAll('#results tbody tr'))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Give a browser that keeps a log of its console and of all requests."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    profile = tmp_path_factory.mktemp("profile")
    flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]
    flags += ["--disable-background-networking", "--no-first-run", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium's sandbox refuses to work for root
    for flag in flags:
        options.add_argument(flag)
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the address of a report as a file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(RESULT), encoding="utf-8")
    return path.as_uri()


def opened(browser: Chrome, address: str) -> None:
    """Open the page with an empty log."""
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # type: ignore[no-untyped-call] # selenium has no hint here
    browser.get(address)


def requests(browser: Chrome) -> list[str]:
    """Return the address of every request since the page was opened."""
    log: list[Any] = browser.get_log("performance")  # type: ignore[no-untyped-call] # selenium has no hint here
    messages = [json.loads(entry["message"])["message"] for entry in log]
    return [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]


def console(browser: Chrome) -> list[Any]:
    """Return what the console was told: errors, among them those of the content policy."""
    entries: list[Any] = browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium has no hint here
    return entries


def comes_true(browser: Chrome, expression: str) -> None:
    """Wait until the page says yes; events reach it a moment after the key."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10).until(lambda driver: driver.execute_script(f"return {expression}"))


def column(browser: Chrome, number: int) -> list[str]:
    """Return the texts of a column of the rows shown, in their order."""
    found: list[str] = browser.execute_script(
        f"return {ROWS}.filter(r => !r.hidden).map(r => r.cells[{number}].textContent.trim())"
    )
    return found


def test_it_opens_without_an_error_or_a_request(browser: Chrome, address: str) -> None:
    """The page is the one request; the console stays empty; the policy lets the page's own style and script work."""
    opened(browser, address)
    assert requests(browser) == [address]
    assert console(browser) == []
    script = (
        "return [document.getElementById('shown').textContent,"
        " getComputedStyle(document.querySelector('nav ul')).display]"
    )
    assert browser.execute_script(script) == [f"{len(RESULT.records)} of {len(RESULT.records)} results shown", "flex"]


def test_sorting(browser: Chrome, address: str) -> None:
    """A click on a heading sorts by it, the next the other way; rows without a figure come last; the state is told."""
    opened(browser, address)
    button = browser.find_elements("css selector", "#results thead button")[3]
    assert button.text.startswith("median")
    values = f"return {ROWS}.map(r => r.cells[3].dataset.v).filter(v => v !== '').map(Number)"
    button.click()
    falling = browser.execute_script(values)
    assert falling == sorted(falling, reverse=True)
    assert column(browser, 3)[-1] == "-"
    assert browser.execute_script("return arguments[0].parentElement.getAttribute('aria-sort')", button) == "descending"
    button.click()
    assert browser.execute_script(values) == falling[::-1]
    assert column(browser, 3)[-1] == "-"
    browser.find_elements("css selector", "#results thead button")[0].click()
    assert column(browser, 0) == sorted(column(browser, 0), key=str.lower)
    assert browser.execute_script("return document.querySelectorAll('th[aria-sort]:not([aria-sort=none])').length") == 1


def test_filtering(browser: Chrome, address: str) -> None:
    """Words, operator and contender narrow the table, together; the count is told; one button shows all again."""
    from selenium.webdriver.support.ui import Select

    opened(browser, address)
    total = len(RESULT.records)
    browser.find_element("id", "filter-text").send_keys("4096x4096 DIM=1")
    assert set(column(browser, 0)) == {"cumsum/4096x4096/dim=1/float32", "sum/4096x4096/dim=1/float32"}
    Select(browser.find_element("css selector", "select[data-column=operator]")).select_by_visible_text("sum")
    Select(browser.find_element("css selector", "select[data-column=contender]")).select_by_visible_text("numpy")
    assert column(browser, 0) == ["sum/4096x4096/dim=1/float32"]
    assert browser.find_element("id", "shown").text == f"1 of {total} results shown"
    browser.find_element("id", "filter-reset").click()
    assert len(column(browser, 0)) == total


def test_details_open_from_the_table_and_by_keyboard(browser: Chrome, address: str) -> None:
    """A link in the table opens the case's details and moves the focus there; the keyboard alone can do it all."""
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    link = browser.find_element("css selector", "#results tbody a[href='#case-3']")
    assert not browser.execute_script("return document.getElementById('case-3').open")
    link.send_keys(Keys.ENTER)
    comes_true(browser, "document.getElementById('case-3').open")
    comes_true(browser, "document.activeElement.parentElement.id === 'case-3'")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    comes_true(browser, "!document.getElementById('case-3').open")
    head = browser.find_elements("css selector", "#results thead button")[0]
    head.send_keys(Keys.SPACE)
    assert column(browser, 0) == sorted(column(browser, 0), key=str.lower)
    browser.find_element("id", "open-all").click()
    assert browser.execute_script("return document.querySelectorAll('details:not([open])').length") == 0
    assert console(browser) == []


def test_a_link_to_a_case_opens_it(browser: Chrome, address: str) -> None:
    """An address with the case behind # shows that case open."""
    opened(browser, f"{address}#case-5")
    comes_true(browser, "document.getElementById('case-5').open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_legible(browser: Chrome, address: str, scheme: str) -> None:
    """In both schemes text and chart stand out from the page: a contrast of at least 4.5 to 1 for text, 3 for marks."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    opened(browser, address)
    paint = (
        "const s = (q, p) => getComputedStyle(document.querySelector(q))[p];"
        "return [s('body','backgroundColor'), s('body','color'), s('.muted','color'), s('#results a','color'),"
        " s('figure .f-ink','fill'), s('figure .f-muted','fill'), s('figure .s-blue','stroke'),"
        " s('figure .s-violet','stroke'), s('figure .s-grey','stroke')]"
    )
    colors = [_luminance(color) for color in browser.execute_script(paint)]
    assert (colors[0] > 0.5) is (scheme == "light")
    contrasts = [(max(colors[0], color) + 0.05) / (min(colors[0], color) + 0.05) for color in colors[1:]]
    assert min(contrasts[:5]) >= 4.5
    assert min(contrasts[5:]) >= 3
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def _luminance(color: str) -> float:
    """Return the relative luminance of `rgb(r, g, b)`, as the Web Content Accessibility Guidelines define it."""
    parts = [int(part) / 255 for part in color.strip("rgba()").split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_print_has_no_controls_and_light_paper(browser: Chrome, address: str) -> None:
    """Printed, the controls are gone, the paper is white whatever the screen is, and the page becomes a PDF."""
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    opened(browser, address)
    script = (
        "return [getComputedStyle(document.querySelector('.controls')).display,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert browser.execute_script(script) == ["none", "rgb(255, 255, 255)"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert len(browser.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 50_000


def test_narrow_windows_do_not_scroll_sideways(browser: Chrome, address: str) -> None:
    """On a small screen only the tables scroll sideways, inside their own frame."""
    browser.set_window_size(520, 800)
    opened(browser, address)
    wide, room = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    browser.set_window_size(1200, 900)
    assert wide <= room


def test_markup_in_every_string_does_nothing(browser: Chrome, tmp_path: Path) -> None:
    """Scripts and handlers in all strings of a result stay text: none runs, none loads, none is even refused."""
    content = attacked_environment(attacked())
    comparison = compare(replace(content, records=content.records[:-3]), content, Options(old="<b>", new="<script>"))
    path = tmp_path / "attacked.html"
    path.write_text(report_html(content, comparison), encoding="utf-8")
    opened(browser, path.as_uri())
    browser.find_element("id", "open-all").click()
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    assert browser.execute_script("return document.querySelectorAll('script').length") == 1
    assert browser.execute_script("return document.querySelectorAll('img, iframe, [onload], [onerror]').length") == 0
    assert requests(browser) == [path.as_uri()]
    assert console(browser) == []
