import { Component, render, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { GradeBadge, Message } from "./parts";
import { access, begin, enter, leave, may, takeTokenFromAddress, type Caller } from "./session";
import { Store, useStore } from "./store";
import "./style.css";
import { applyTheme, chooseTheme, theme, type Theme } from "./theme";
import { Play } from "./views/play";

interface Place {
  view: string;
  rest: string;
}

function readPlace(): Place {
  const [view = "play", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view: view || "play", rest: rest.join("/") };
}

const place = new Store<Place>({ view: "play", rest: "" });

// Of the views that are not needed at once.
function useView<P>(load: () => Promise<ComponentType<P>>): ComponentType<P> | undefined {
  const [view, setView] = useState<{ made: ComponentType<P> }>();
  useEffect(() => {
    void load().then((made) => setView({ made }));
  }, []);
  return view?.made;
}

function Lazy<P extends object>({
  load,
  properties,
}: {
  load: () => Promise<ComponentType<P>>;
  properties: P;
}) {
  const View = useView(load);
  return View ? (
    <View {...properties} />
  ) : (
    <main id="main">
      <p class="note">Loading…</p>
    </main>
  );
}

const loadSessions = async () => (await import("./views/sessions")).Sessions;
const loadOperate = async () => (await import("./views/operate")).Operate;
const loadConnect = async () => (await import("./views/connect")).Connect;

function View() {
  const { view, rest } = useStore(place);
  if (view === "sessions" && may("sessions"))
    return <Lazy key="sessions" load={loadSessions} properties={{}} />;
  if (view === "operate")
    return <Lazy key="operate" load={loadOperate} properties={{ section: rest }} />;
  if (view === "connect") return <Lazy key="connect" load={loadConnect} properties={{}} />;
  return <Play snippet={rest} />;
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" width="26" height="26">
      <g
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
        stroke-linejoin="round"
      >
        <circle cx="16" cy="4.600" r="1.600" />
        <path d="M8 25v-9a8 8 0 0 1 16 0v9" />
        <path d="M5 27h22" />
      </g>
      <circle cx="16" cy="20" r="2.800" class="spark" />
    </svg>
  );
}

function Header({ caller }: { caller?: Caller }) {
  const { view } = useStore(place);
  const links = [
    ["play", "Playground", true],
    ["sessions", "Sessions", may("sessions")],
    ["operate", "Operate", may("operate") || may("audit:read") || may("metrics:read")],
    ["connect", "Connect", true],
  ] as const;
  return (
    <header class="top">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          const main = document.getElementById("main");
          main?.setAttribute("tabindex", "-1");
          main?.focus();
        }}
      >
        Skip to the content
      </a>
      <a class="brand" href="#/play">
        <Mark /> Belljar
      </a>
      {caller && (
        <nav aria-label="Views">
          {links
            .filter(([, , shown]) => shown)
            .map(([id, title]) => (
              <a key={id} href={`#/${id}`} aria-current={view === id ? "page" : undefined}>
                {title}
              </a>
            ))}
        </nav>
      )}
      <div class="corner">
        {caller && <GradeBadge isolation={caller.isolation} />}
        <ThemeChoice />
        {caller && (
          <button
            type="button"
            class="small"
            onClick={() => leave()}
            title={caller.principal ? `Signed in as ${caller.principal}` : undefined}
          >
            {caller.principal ? `Leave (${caller.principal.slice(0, 20)})` : "Leave"}
          </button>
        )}
      </div>
    </header>
  );
}

function ThemeChoice() {
  const chosen = useStore(theme);
  return (
    <label class="field">
      <span class="sr">Colours</span>
      <select
        class="small"
        value={chosen}
        onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
      >
        <option value="system">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

function TokenForm({ message }: { message?: string }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const go = async (given: string) => {
    setBusy(true);
    await enter(given);
    setBusy(false);
  };
  return (
    <main class="entrance" id="main">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void go(token.trim());
        }}
      >
        <h1>Under the glass</h1>
        <p>
          Programs that nobody has looked at run here without harm. To watch, enter a token of this
          server. It stays in this tab and goes nowhere else.
        </p>
        {message && <Message>{message}</Message>}
        <label class="field tall">
          Token
          <input
            type="password"
            name="token"
            autoComplete="off"
            spellcheck={false}
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p class="actions">
          <button type="submit" class="primary" disabled={busy}>
            Enter
          </button>
          <button type="button" disabled={busy} onClick={() => go("")}>
            The server asks for none
          </button>
        </p>
        <p class="note">
          <code>belljar serve</code> prints a link that brings the token along; later it is in the
          file <code>token</code> of the data directory.
        </p>
      </form>
    </main>
  );
}

// Whatever goes wrong in a view, the page stays, says so and can go on.
class Shield extends Component<{ children: ComponentChildren }, { failed?: string }> {
  state: { failed?: string } = {};

  componentDidCatch(error: unknown): void {
    this.setState({ failed: error instanceof Error ? error.message : String(error) });
  }

  render() {
    if (!this.state.failed) return this.props.children;
    return (
      <main id="main">
        <Message>This view could not be shown: {this.state.failed}</Message>
        <button type="button" onClick={() => this.setState({ failed: undefined })}>
          Try again
        </button>
      </main>
    );
  }
}

function App() {
  const now = useStore(access);
  const caller = now.state === "open" ? now.caller : undefined;
  return (
    <>
      <Header caller={caller} />
      <Shield>
        {now.state === "unknown" && (
          <main id="main">
            <p class="note">Connecting…</p>
          </main>
        )}
        {now.state === "asking" && <TokenForm message={now.message} />}
        {now.state === "open" && <View />}
      </Shield>
      {caller && (
        <footer class="foot">
          <span>Belljar {caller.version}</span>
          <a href="/docs">API reference</a>
        </footer>
      )}
    </>
  );
}

window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    takeTokenFromAddress();
    void begin();
  }
  place.value = readPlace();
});
applyTheme();
void begin();
place.value = readPlace();
render(<App />, document.getElementById("app")!);
