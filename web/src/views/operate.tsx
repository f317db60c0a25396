// For whoever runs the server.

import { may } from "../session";
import { Audit } from "./operate/audit";
import { Conversations, LiveSessions, Runs } from "./operate/lists";
import { Overview } from "./operate/overview";
import { Doctor, Policy, Tokens } from "./operate/system";

interface Section {
  id: string;
  title: string;
  right: string;
  view: () => preact.JSX.Element;
}

const SECTIONS: Section[] = [
  { id: "overview", title: "Overview", right: "metrics:read", view: Overview },
  { id: "runs", title: "Runs", right: "operate", view: Runs },
  { id: "sessions", title: "Sessions", right: "operate", view: LiveSessions },
  { id: "conversations", title: "Conversations", right: "operate", view: Conversations },
  { id: "audit", title: "Audit", right: "audit:read", view: Audit },
  { id: "policy", title: "Policy", right: "run:exec", view: Policy },
  { id: "doctor", title: "Doctor", right: "admin", view: Doctor },
  { id: "tokens", title: "Tokens", right: "admin", view: Tokens },
];

export function Operate({ section }: { section: string }) {
  const allowed = SECTIONS.filter((one) => may(one.right));
  const shown = allowed.find((one) => one.id === section) ?? allowed[0];
  if (!shown)
    return (
      <main id="main">
        <p class="empty big">Your token gives no right to operate this server.</p>
      </main>
    );
  const View = shown.view;
  return (
    <main class="operate" id="main">
      <h1 class="sr">Operate</h1>
      <nav class="side" aria-label="Operate">
        {allowed.map((one) => (
          <a
            key={one.id}
            href={`#/operate/${one.id}`}
            aria-current={one === shown ? "page" : undefined}
          >
            {one.title}
          </a>
        ))}
      </nav>
      <section class="card panel" aria-labelledby="panel-title">
        <h2 class="panel-title" id="panel-title">
          {shown.title}
        </h2>
        <View key={shown.id} />
      </section>
    </main>
  );
}
