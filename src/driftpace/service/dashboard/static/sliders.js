// Sliders beside numbers: 0 to 100 stands for a fifth to five times the default, or for 1 to twice the default.
"use strict";

function scale(slider, input) {
  const initial = Number(input.dataset.default);
  if (slider.dataset.scale === "even") {
    const most = Math.min(Number(input.max) || Infinity, Math.max(24, 2 * initial));
    return { to: (at) => Math.round(1 + (most - 1) * at / 100), from: (value) => 100 * (value - 1) / (most - 1) };
  }
  const middle = initial > 0 ? initial : 100;
  return { to: (at) => Number((middle * 5 ** ((at - 50) / 50)).toPrecision(2)), from: (value) => 50 + 50 * Math.log(value / middle) / Math.log(5) };
}

export function setSlider(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const at = input.value === "" ? 50 : scale(slider, input).from(Number(input.value));
  slider.value = Number.isFinite(at) ? Math.min(100, Math.max(0, Math.round(at))) : 50;
  slider.setAttribute("aria-valuetext", input.value === "" ? "not set" : input.value);
}

// Moving a slider fills in its number before other listeners run.
export function bindSlider(slider) {
  const input = document.getElementById(slider.dataset.slides);
  setSlider(slider);
  slider.addEventListener("input", () => {
    input.value = slider.value === "50" && input.dataset.default !== "" ? input.dataset.default : scale(slider, input).to(Number(slider.value));
    slider.setAttribute("aria-valuetext", input.value);
  });
  input.addEventListener("input", () => setSlider(slider));
}
