// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_page_map.cpp writes the HTML page with the maps. Maps are run-length coded letters, so that
// a million pages over thirty intervals take only a few megabytes. A script in the page draws them.
#include "runtime/cli/numa/numa_page_map.h"
#include "runtime/cli/numa/numa_simulation.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

// Encodes runs: "aaab" becomes "a3b", a letter and then its count if that is more than one. Node n
// is the character that lies n behind 'A': up to 0x7f, since there are at most kMaxNodes, 63.
std::string run_lengths(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] == text[i])
      end++;
    out += text[i];
    if (end - i > 1)
      out += std::to_string(end - i);
    i = end;
  }
  return out;
}

// Escapes '<', so that no name in a trace can end the script element.
std::string for_script(const Json &document) {
  std::string text = document.dump(-1, ' ', true, Json::error_handler_t::replace), out;
  for (char c : text)
    out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

const char kPage[] = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>smalloc: pages on nodes</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#222;
  background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}
canvas{image-rendering:pixelated;border:1px solid #ccc;max-width:100%}
.two{display:flex;gap:2em;flex-wrap:wrap}
.swatch{display:inline-block;width:1em;height:1em;margin:0 .3em 0 1em;vertical-align:-2px}
input[type=range]{width:30em;max-width:100%}button{font:inherit}
@media print{input,button{display:none}}
</style></head><body>
<h1>Which node each page lies on</h1><p id="what"></p>
<p><label>interval <input type="range" id="at" min="0" value="0"> <output id="now"></output></label>
<button id="play">play</button></p><p id="key"></p>
<div class="two"><figure><figcaption>without migration: <b id="ra"></b> of accesses
remote</figcaption><canvas id="a"></canvas><br><button data-png="a">save as PNG</button></figure>
<figure><figcaption>with migration: <b id="rb"></b> remote</figcaption><canvas id="b"></canvas><br>
<button data-png="b">save as PNG</button></figure></div>
<p>A pixel is a page of 4 KiB, addresses from left to right and top to bottom, 512 pages (2 MiB)
a row; white: not touched yet.</p>
<h2>Pages moved, by the node that they went to</h2>
<canvas id="moves" width="900" height="160"></canvas>
<div class="two">
<figure><figcaption>moves in this interval</figcaption>
<canvas id="latest" width="420" height="24"></canvas></figure>
<figure><figcaption>moves since the start</figcaption>
<canvas id="since" width="420" height="24"></canvas></figure></div>
<h2>Share of remote accesses</h2>
<canvas id="share" width="900" height="160"></canvas><p id="sharekey"></p>
<h2>Sites</h2><p id="nosites">The trace knows no objects: record the program by smalloc record,
compiled with profile-generate.</p><table id="sites"></table>
<h2>All sources of counts</h2><table id="all"></table>
<h2>How these numbers were obtained</h2><p id="how"></p>
<script>
const D = )page";

const char kScript[] = R"page(;
const $ = id => document.getElementById(id), N = D.nodes, T = D.frames.length;
// Okabe and Ito's eight colours, which the colour-blind can tell apart; then hues.
const C = i => ['#0072b2','#e69f00','#009e73','#d55e00','#cc79a7','#56b4e9','#f0e442','#444444'][i]
  || `hsl(${i*47%360} 60% 45%)`;
const un = s => {
  const o = [];
  s.replace(/([^0-9])([0-9]*)/g, (_, c, n) => {
    for (let i = +(n || 1); i > 0; i--) o.push(c === '.' ? -1 : c.charCodeAt(0) - 65);
  });
  return o;
};
function map(id, text, units) {
  const c = $(id), all = D.units; c.width = 512; c.height = Math.max(all.length * 4, 4);
  const g = c.getContext('2d'); g.fillStyle = '#fff'; g.fillRect(0, 0, c.width, c.height);
  const row = new Map(all.map((u, i) => [u, i])), homes = un(text);
  for (let i = 0; i < homes.length; i++)
    if (homes[i] >= 0) {
      g.fillStyle = C(homes[i]);
      g.fillRect(i % 512, row.get(units[i >> 9]) * 4, 1, 4);
    }
}
function stack(id, counts) {
  const c = $(id), g = c.getContext('2d'), sum = counts.reduce((a, b) => a + b, 0); let x = 0;
  g.clearRect(0, 0, c.width, c.height);
  counts.forEach((n, i) => {
    const w = sum ? n / sum * c.width : 0;
    g.fillStyle = C(i); g.fillRect(x, 0, w, c.height); x += w;
  });
  c.title = counts.map((n, i) => `node ${i}: ${n}`).join(', ');
}
function bars(id, rows, now) {
  const c = $(id), g = c.getContext('2d'),
    most = Math.max(1, ...rows.map(r => r.reduce((a, b) => a + b, 0))), w = c.width / T;
  g.clearRect(0, 0, c.width, c.height);
  rows.forEach((r, t) => {
    let y = c.height;
    r.forEach((n, i) => {
      const h = n / most * (c.height - 14);
      g.fillStyle = C(i); g.fillRect(t * w + 1, y - h, w - 2, h); y -= h;
    });
    if (t === now) { g.strokeStyle = '#000'; g.strokeRect(t * w + .5, .5, w - 1, c.height - 1); }
  });
  g.fillStyle = '#222'; g.font = '12px sans-serif'; g.fillText(`highest: ${most} pages`, 4, 11);
}
function lines(id, rows, now) {
  const c = $(id), g = c.getContext('2d'), x = t => (t + .5) * c.width / T,
    y = p => (1 - p / 100) * (c.height - 4) + 2;
  g.clearRect(0, 0, c.width, c.height);
  rows.forEach((r, i) => {
    g.strokeStyle = i ? '#009e73' : '#d55e00'; g.lineWidth = 2; g.beginPath();
    r.forEach((p, t) => t ? g.lineTo(x(t), y(p)) : g.moveTo(x(t), y(p)));
    g.stroke();
  });
  g.strokeStyle = '#888'; g.lineWidth = 1;
  g.beginPath(); g.moveTo(x(now), 0); g.lineTo(x(now), c.height); g.stroke();
}
const without = D.result.schemes[0], shown = D.result.schemes.find(s => s.name === D.source);
function show() {
  const t = +$('at').value, f = D.frames[t]; $('now').value = `${t + 1} of ${T}`;
  map('a', f.a, f.u); map('b', f.b, f.u);
  $('ra').textContent = without.remote_percent_per_interval[t] + ' %';
  $('rb').textContent = shown.remote_percent_per_interval[t] + ' %';
  const sum = Array(N).fill(0);
  for (let i = 0; i <= t; i++) D.moved_to[i].forEach((n, k) => sum[k] += n);
  stack('latest', D.moved_to[t]); stack('since', sum); bars('moves', D.moved_to, t);
  lines('share', [without.remote_percent_per_interval, shown.remote_percent_per_interval], t);
}
$('what').textContent = `${D.result.trace}: ${D.result.threads} threads on ${
  D.result.machine.name}, ${D.result.pages} pages; counts from ${D.source}, policy "${
  D.result.policy}".`;
$('key').innerHTML = Array.from({length: N}, (_, i) =>
  `<span class="swatch" style="background:${C(i)}"></span>node ${i}`).join('');
$('sharekey').innerHTML =
  '<span class="swatch" style="background:#d55e00"></span>without ' +
  '<span class="swatch" style="background:#009e73"></span>with migration; 100 % at the top';
const cell = (r, tag, text) => {
  const c = document.createElement(tag); c.textContent = text; r.append(c);
};
[['pages, source', 'remote', 'reduction', 'moved pages', 'moved superpages', 'memory time'],
  ...D.result.schemes.map(s =>
  [s.name, s.remote_percent + ' %', s.reduction_percent + ' %', s.moved_base_pages,
   s.moved_superpages, (-s.faster_percent).toFixed(1) + ' %'])]
  .forEach((row, i) => {
    const r = $('all').insertRow(); row.forEach(v => cell(r, i ? 'td' : 'th', v));
  });
if (D.result.sites.length) {
  $('nosites').textContent = 'Memory transactions of each site’s objects, and by which node.';
  [['site', 'transactions', 'remote', 'with migration', 'by node'], ...D.result.sites.map(s =>
    [s.name, s.transactions, s.remote_percent_first_touch.toFixed(1) + ' %',
     s.remote_percent.toFixed(1) + ' %', ''])]
    .forEach((row, i) => {
      const r = $('sites').insertRow(); row.forEach(v => cell(r, i ? 'td' : 'th', v));
      if (i) {
        const c = document.createElement('canvas');
        c.width = 180; c.height = 14; c.id = `site${i}`; r.lastChild.append(c);
        stack(c.id, D.result.sites[i - 1].transactions_by_node);
      }
    });
}
$('how').textContent = `smalloc numa report; simulated: ${D.result.intervals} intervals, every ${
  D.result.sample_period}. event a sample, ${D.result.transactions} memory transactions of ${
  D.result.accesses} accesses, local ${D.result.machine.local_ns} ns, remote ${
  D.result.machine.remote_ns} ns, caches and TLBs 1/${D.result.machine.shrink}.`;
document.querySelectorAll('[data-png]').forEach(b => b.onclick = () => {
  const l = document.createElement('a');
  l.download = `pages-${b.dataset.png === 'a' ? 'without' : 'with'}.png`;
  l.href = $(b.dataset.png).toDataURL(); l.click();
});
$('at').max = T - 1; $('at').oninput = show;
let timer;
$('play').onclick = () => {
  clearInterval(timer); $('at').value = 0; show();
  timer = setInterval(() => {
    if (+$('at').value >= T - 1) clearInterval(timer); else { $('at').value++; show(); }
  }, 400);
};
$('at').value = T - 1; show();
</script></body></html>
)page";

} // namespace

void NumaPageMap::take(const numa::Simulator &simulator) {
  scheme_ = scheme_of(simulator, source_);
  Frame frame;
  frame.units = simulator.unit_addresses();
  auto letter = [&](size_t scheme, uint64_t address) {
    const uint8_t home = simulator.home(scheme, address);
    return home == numa::kNoNode ? '.' : static_cast<char>('A' + home);
  };
  for (uint64_t unit : frame.units)
    for (size_t p = 0; p < kPagesPerUnit; p++) {
      frame.without += letter(0, unit + p * kBasePageBytes);
      frame.with += letter(scheme_, unit + p * kBasePageBytes);
    }
  frame.without = run_lengths(frame.without);
  frame.with = run_lengths(frame.with);
  units_ = frame.units; // units are only ever added
  frames_.push_back(std::move(frame));
}

std::string NumaPageMap::page(const Json &document, const numa::SimulationResult &result) const {
  // Write units as indices, since addresses have more bits than a JavaScript number holds.
  std::map<uint64_t, size_t> index;
  Json units = Json::array(), frames = Json::array();
  for (uint64_t unit : units_) {
    units.push_back(index.size());
    index.emplace(unit, index.size());
  }
  for (const Frame &f : frames_) {
    Json of_frame = Json::array();
    for (uint64_t unit : f.units)
      of_frame.push_back(index.at(unit));
    frames.push_back(Json{{"u", of_frame}, {"a", f.without}, {"b", f.with}});
  }
  Json moved = Json::array();
  for (const auto &to : result.schemes[scheme_].moved_to)
    moved.push_back(to);
  const Json data{{"schema", "smalloc.numa.report/1"},
                  {"source", source_},
                  {"nodes", document["machine"]["nodes"]},
                  {"units", units},
                  {"frames", frames},
                  {"moved_to", moved},
                  {"result", document}};
  return kPage + for_script(data) + kScript;
}

} // namespace smalloc::cli
