"use strict";
// Sorting and filtering of the results table, and opening of details. Everything is readable without this script.
(() => {
  const table = document.getElementById("results");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const status = document.getElementById("shown");
  const text = document.getElementById("filter-text");
  const selects = Array.from(document.querySelectorAll("select[data-column]"));
  const heads = Array.from(table.tHead.rows[0].cells);
  const place = new Map(rows.map((row, index) => [row, index]));

  const key = (row, column, numeric) => {
    const cell = row.cells[column];
    const value = cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
    if (!numeric) return value.toLowerCase();
    return value === "" ? NaN : Number(value);
  };

  const sort = (column) => {
    const head = heads[column];
    const numeric = head.classList.contains("num");
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const direction = head.getAttribute("aria-sort") === first ? other : first;
    heads.forEach((one) => one.setAttribute("aria-sort", one === head ? direction : "none"));
    const sign = direction === "ascending" ? 1 : -1;
    const keys = new Map(rows.map((row) => [row, key(row, column, numeric)]));
    const ordered = rows.slice().sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (numeric && (Number.isNaN(x) || Number.isNaN(y))) { // what has no figure comes last either way
        return Number.isNaN(x) - Number.isNaN(y) || place.get(a) - place.get(b);
      }
      return x < y ? -sign : x > y ? sign : place.get(a) - place.get(b);
    });
    const fragment = document.createDocumentFragment();
    fragment.append(...ordered);
    body.append(fragment);
  };

  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const content = row.cells[0].textContent.toLowerCase() + " " + row.cells[1].textContent.toLowerCase();
      const fits = words.every((word) => content.includes(word)) &&
        selects.every((one) => one.value === "" || row.dataset[one.dataset.column] === one.value.slice(1));
      row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    status.textContent = `${count} of ${rows.length} results shown`;
  };

  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sort(column));
  });
  text.addEventListener("input", filter);
  selects.forEach((one) => one.addEventListener("change", filter));
  document.getElementById("filter-reset").addEventListener("click", () => {
    text.value = "";
    selects.forEach((one) => { one.value = ""; });
    filter();
    text.focus();
  });
  filter();

  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  };
  window.addEventListener("hashchange", openTarget);
  openTarget();
  document.getElementById("open-all").addEventListener("click", (event) => {
    const all = document.querySelectorAll("details.case");
    const open = !all[0].open;
    all.forEach((one) => { one.open = open; });
    event.target.textContent = open ? "Close all" : "Open all";
  });
})();
