// One campaign: charts that answer to the pointer, what-if, decisions, money, uploads, and news from elsewhere.
"use strict";
import "./charts.js";
import "./whatif.js";
import "./decide.js";
import "./price.js";
import "./money.js";
import "./upload.js";
import "./news.js";

document.documentElement.classList.add("ready"); // only now is there anything behind the buttons
