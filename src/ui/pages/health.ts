/** What `svc doctor` finds, for a person who looks here first. */
import { escaped, isolated, visible } from "../../pages/text.ts";
import type { HealthFinding, Site } from "../memory/site.ts";
import { counted } from "./amounts.ts";
import { fitting } from "./fitting.ts";
import { page } from "./layout.ts";

/** Characters of a finding. */
const MESSAGE_MAX = 500;
/** Bytes of the findings of an area: the worst come first. */
const AREA_BYTES = 5_000;

const WORST = { problem: 0, warning: 1, ok: 2 } as const;
const MARKS = {
  ok: '<span class="good">ok</span>',
  warning: "<strong>warning</strong>",
  problem: '<strong class="ended">problem</strong>',
};

export function healthPage(site: Site, findings: readonly HealthFinding[]): string {
  const number = (level: HealthFinding["level"]) => findings.filter((one) => one.level === level).length;
  const [problems, warnings] = [number("problem"), number("warning")];
  const wrong = [problems > 0 ? counted(problems, "problem") : "", warnings > 0 ? counted(warnings, "warning") : ""];
  const areas = [...new Set(findings.map(({ area }) => area))].map((area) => areaOf(area, findings));
  const content = `<h1>Health</h1>
    <p>${wrong.filter(Boolean).join(" and ") || "Nothing is wrong"}. <code>svc doctor</code> prints the same.
      <code>svc mem check</code> also reads every byte of the memory.</p>${areas.join("")}`;
  return page(site, { title: "Health", section: "/health", content });
}

function areaOf(area: string, all: readonly HealthFinding[]): string {
  const findings = all.filter((one) => one.area === area).sort((a, b) => WORST[a.level] - WORST[b.level]);
  const toItem = ({ level, message, remedy }: HealthFinding) => {
    const cut = message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX).toWellFormed()}…` : message;
    return `<li>${MARKS[level]} ${isolated(cut)}${remedy === null ? "" : remedyOf(remedy)}</li>`;
  };
  const items = fitting(findings.values().map(toItem), AREA_BYTES);
  const more =
    findings.length > items.length ? `<li>${counted(findings.length - items.length, "more finding")}</li>` : "";
  return `<section><h2>${escaped(area[0]!.toUpperCase() + area.slice(1))}</h2><ul class="findings">${items.join("")}${more}</ul></section>`;
}

/** A command is chosen whole with one click. */
function remedyOf(remedy: string): string {
  const text = escaped(visible(remedy));
  return /^(?:svc|npm|sudo|rm|chmod|chown|mv|kill|ps|export|unset) /.test(remedy)
    ? `<code class="command">${text}</code>`
    : `<p class="hint">${text}</p>`;
}
