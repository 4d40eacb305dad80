/// The script of the page: it filters by subject and path, and folds places. Without it everything is shown.
enum PageScript {
    /// In base64: a browser runs only a script with the hash in the policy of the page. ReportPageTests says which one a changed text has.
    static let sha256 = "mIlBpbSog9LoyVTTX6dbA7Ddmx0JuVKk+FxYT7IgGyw="

    static let text: StaticString = """
        "use strict";
        (() => {
          const form = document.getElementById("filter");
          const who = document.getElementById("who");
          const where = document.getElementById("where");
          const status = document.getElementById("status");
          const places = [...document.querySelectorAll("#table tbody")];
          const columns = [...document.querySelectorAll("#table thead th[data-m]")].map(
            (head) => head.dataset.m.split(" ").map((mask) => parseInt(mask, 16)));
          const looks = new Map();
          for (const section of document.querySelectorAll(".look")) {
            const look = { usual: parseInt(section.dataset.o, 16), without: parseInt(section.dataset.a, 16), own: new Map() };
            for (const row of section.querySelectorAll("tr[data-s]")) {
              for (const subject of row.dataset.s.split(" ")) look.own.set(subject, parseInt(row.dataset.m, 16));
            }
            looks.set(section.id.slice(1), look);
          }

          function mask(look, option) {
            const known = looks.get(look);
            if (!known) return 0;
            return known.own.get(option.value) ?? (option.dataset.a ? known.without : known.usual);
          }

          function fill(row, option) {
            const rights = option.value ? mask(row.dataset.v, option) : 0;
            let any = !option.value;
            row.querySelectorAll("td[data-w]").forEach((cell, index) => {
              cell.classList.remove("yes", "no");
              const wanted = columns[index][Number(row.dataset.k)];
              if (!option.value || !wanted) {
                cell.textContent = cell.dataset.w;
                return;
              }
              const has = rights & wanted;
              cell.textContent = has === wanted ? "yes" : has ? "partly" : "no";
              cell.classList.add(has ? "yes" : "no");
              any = any || has !== 0;
            });
            return any;
          }

          function update() {
            const option = who.selectedOptions[0];
            const wanted = where.value.toLowerCase();
            let folded = Infinity;
            let shown = 0;
            let matching = 0;
            for (const place of places) {
              const depth = Number(place.dataset.d);
              if (depth <= folded) folded = Infinity;
              const isFolded = folded < Infinity;
              const button = place.querySelector(".fold");
              if (!isFolded && button && button.getAttribute("aria-expanded") === "false") folded = depth;
              let any = false;
              for (const row of place.rows) {
                row.hidden = row.dataset.v !== undefined && !fill(row, option) || option.value !== "" && row.dataset.v === undefined;
                any = any || !row.hidden;
              }
              // The cell of the path spans the rows of the place, so the first row stays if any does.
              if (any) place.rows[0].hidden = false;
              const matches = any && place.dataset.p.toLowerCase().includes(wanted);
              matching += matches ? 1 : 0;
              place.hidden = isFolded || !matches;
              shown += place.hidden ? 0 : 1;
            }
            const name = option.value ? option.textContent + " may do something in " : "";
            status.textContent = name + matching + " of " + places.length + " places" + (shown < matching ? ", " + shown + " shown" : "");
          }

          places.forEach((place, index) => {
            for (const cell of place.querySelectorAll("td.w")) cell.dataset.w = cell.textContent;
            const next = places[index + 1];
            if (!next || Number(next.dataset.d) <= Number(place.dataset.d)) return;
            const button = document.createElement("button");
            button.type = "button";
            button.className = "fold";
            button.textContent = "\\u2212";
            button.setAttribute("aria-expanded", "true");
            button.setAttribute("aria-label", "Places below " + place.dataset.p);
            button.addEventListener("click", () => {
              const isOpen = button.getAttribute("aria-expanded") === "true";
              button.setAttribute("aria-expanded", String(!isOpen));
              button.textContent = isOpen ? "+" : "\\u2212";
              update();
            });
            place.querySelector("th").prepend(button);
          });
          who.addEventListener("change", update);
          where.addEventListener("input", update);
          form.addEventListener("reset", () => setTimeout(update));
          form.addEventListener("submit", (event) => event.preventDefault());
          form.hidden = false;
          update();
        })();
        """
}
