"use strict";
// Says under each small chart which run lies nearest to the pointer, or was reached by the arrow keys.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = Array.from(document.querySelectorAll("svg[data-series]"));

  function tell(svg, place) {
    const points = data.series[Number(svg.dataset.series)];
    const [run, x, y, time, interval, status] = points[place];
    const [when, commit, branch, driver] = data.runs[run];
    const mark = svg.querySelector(".here");
    mark.setAttribute("cx", x);
    mark.setAttribute("cy", y);
    svg.dataset.place = place;
    const words = [time + (interval ? " (" + interval + ")" : "") + (status === "ok" ? "" : ", " + status)];
    words.push(when, "commit " + commit + (branch ? " on " + branch : ""));
    if (driver) { words.push("driver " + driver); }
    svg.parentElement.querySelector(".told").textContent = words.join("; ");
  }

  function nearest(svg, clientX) {
    const box = svg.getBoundingClientRect();
    const x = (clientX - box.left) / box.width * data.box[0];
    const points = data.series[Number(svg.dataset.series)];
    let best = 0;
    points.forEach((point, place) => {
      if (Math.abs(point[1] - x) < Math.abs(points[best][1] - x)) { best = place; }
    });
    return best;
  }

  for (const svg of charts) {
    const last = data.series[Number(svg.dataset.series)].length - 1;
    svg.addEventListener("pointermove", (event) => tell(svg, nearest(svg, event.clientX)));
    svg.addEventListener("focus", () => { if (svg.dataset.place === undefined) { tell(svg, last); } });
    svg.addEventListener("keydown", (event) => {
      const here = Number(svg.dataset.place ?? last);
      const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
      if (to === undefined) { return; }
      event.preventDefault();
      tell(svg, Math.min(Math.max(to, 0), last));
    });
  }

  document.getElementById("only").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const svg of charts) {
      const figure = svg.parentElement;
      const name = figure.dataset.name.toLowerCase();
      figure.parentElement.hidden = !words.every((word) => name.includes(word));
    }
  });
})();
