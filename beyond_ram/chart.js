"use strict";
// The readings of every line of a chart at the time under the pointer.
function readings(place) {
  const english = (value, digits) => value.toLocaleString("en", {maximumFractionDigits: digits});
  const sizeAt = (points, t) => {
    let low = 0, high = points.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (points[middle][0] <= t) low = middle; else high = middle - 1;
    }
    return points[low][1];
  };
  for (const figure of place.querySelectorAll("figure.chart")) {
    const lines = JSON.parse(figure.querySelector("script").textContent), reading = figure.querySelector(".reading");
    for (const svg of figure.querySelectorAll("svg")) {
      const cursor = svg.querySelector(".cursor"), wide = svg.viewBox.baseVal.width;
      const [left, right, end] = ["left", "right", "end"].map(name => Number(svg.dataset[name]));
      const show = event => {
        const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * wide;
        const x = Math.min(right, Math.max(left, at)), t = (x - left) / (right - left) * end;
        cursor.setAttribute("transform", `translate(${x} 0)`);
        reading.textContent = [`${english(t, 2)} s`, ...lines.map(line => `${line.name}: ${english(sizeAt(line.points, t), 1)} MB`)].join("\n");
        reading.classList.toggle("left", at > wide / 2);
        cursor.style.visibility = reading.style.visibility = "visible";
      };
      svg.addEventListener("pointermove", show);
      svg.addEventListener("pointerdown", show);
      svg.addEventListener("pointerleave", () => { cursor.style.visibility = reading.style.visibility = "hidden"; });
    }
  }
}
