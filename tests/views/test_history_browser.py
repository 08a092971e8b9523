"""The pages of a history in a real browser: what the pointer and the keys tell, and that nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpubench.views.history_pages import group_page, index_page, page_name
from tests.views.test_history_pages import ATTACK, GROUP, line
from tests.views.test_report_browser import browser, opened, pytestmark, requests

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

__all__ = ["browser", "pytestmark"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the address of a page with three series, one of them hostile."""
    folder = tmp_path_factory.mktemp("site")
    lines = [line(), line("cumsum/64/float32", step=False), line(f"sum/{ATTACK}")]
    (folder / page_name(GROUP)).write_text(group_page(GROUP, lines, [], 0.01))
    rows = [(GROUP, page_name(GROUP), [point.run for point in lines[0].points], lines[0].steps or ())]
    (folder / "index.html").write_text(index_page(rows))
    return (folder / "index.html").as_uri()


def told(browser: Chrome, series: int) -> str:
    """Return what stands under a chart."""
    chart = f"document.querySelector('svg[data-series=\"{series}\"]')"
    script = f"return {chart}.parentElement.querySelector('.told').textContent"
    return str(browser.execute_script(script))


def test_hovering_tells_commit_and_interval(browser: Chrome, address: str) -> None:
    """From the index to the page; the nearest run is told under the pointer and by the arrow keys."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    browser.find_element(By.LINK_TEXT, "smoke").click()
    svg = browser.find_element(By.CSS_SELECTOR, 'svg[data-series="0"]')
    browser.execute_script("arguments[0].scrollIntoView()", svg)
    width = svg.size["width"]
    ActionChains(browser).move_to_element_with_offset(svg, int(-0.49 * width), 0).perform()
    assert told(browser, 0) == "50.00 us (49.50 - 50.50); 2026-01-01 00:00; commit abcdef0123 on main; driver 580"
    ActionChains(browser).move_to_element_with_offset(svg, int(0.49 * width), 5).perform()
    assert told(browser, 0).startswith("55.00 us (54.45 - 55.55); 2026-01-12")
    svg.send_keys(Keys.HOME)
    svg.send_keys(Keys.ARROW_RIGHT)
    assert "2026-01-02" in told(browser, 0)


def test_only_series_asked_for_are_shown_and_nothing_is_fetched(browser: Chrome, address: str) -> None:
    """The filter hides the others; no request but the pages themselves; no script of a foreign name runs."""
    from selenium.webdriver.common.by import By

    opened(browser, address)
    browser.find_element(By.LINK_TEXT, "smoke").click()
    browser.find_element(By.ID, "only").send_keys("cumsum torch")
    shown = [element for element in browser.find_elements(By.CSS_SELECTOR, ".small") if element.is_displayed()]
    assert [element.get_attribute("data-name") for element in shown] == ["cumsum/64/float32 torch"]
    assert all(url.startswith("file:") for url in requests(browser))
    log: list[Any] = browser.get_log("browser")  # type: ignore[no-untyped-call] # selenium has no hint here
    assert log == []
    assert Path(address.removeprefix("file://")).exists()
