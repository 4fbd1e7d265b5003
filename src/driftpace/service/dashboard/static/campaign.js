// The page of one campaign.
"use strict";
import "./charts.js";
import "./what_if.js";
import "./decisions.js";
import "./price.js";
import "./money.js";
import "./undo.js";
import "./upload.js";
import "./draw.js";
import "./live.js";

document.documentElement.classList.add("ready"); // the buttons work from now on
