// A slider beside a number: 0..100 stands for a fifth to five times the usual value, or for 1 to twice and more.
"use strict";

function scale(slider, input) {
  const usual = Number(input.dataset.usual);
  if (slider.dataset.scale === "even") {
    const most = Math.min(Number(input.max) || Infinity, Math.max(24, 2 * usual));
    return { to: (at) => Math.round(1 + (most - 1) * at / 100), from: (value) => 100 * (value - 1) / (most - 1) };
  }
  const middle = usual > 0 ? usual : 100;
  return { to: (at) => Number((middle * 5 ** ((at - 50) / 50)).toPrecision(2)), from: (value) => 50 + 50 * Math.log(value / middle) / Math.log(5) };
}

export function place(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const at = input.value === "" ? 50 : scale(slider, input).from(Number(input.value));
  slider.value = Number.isFinite(at) ? Math.min(100, Math.max(0, Math.round(at))) : 50;
  slider.setAttribute("aria-valuetext", input.value === "" ? "not set" : input.value);
}

// A slider that is moved fills in its number, before anybody else hears of it.
export function couple(slider) {
  const input = document.getElementById(slider.dataset.slides);
  place(slider);
  slider.addEventListener("input", () => {
    input.value = slider.value === "50" && input.dataset.usual !== "" ? input.dataset.usual : scale(slider, input).to(Number(slider.value));
    slider.setAttribute("aria-valuetext", input.value);
  });
  input.addEventListener("input", () => place(slider));
}
