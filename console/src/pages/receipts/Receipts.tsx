/** Receipts from anywhere, verified in the browser. */

import { Link } from "@tanstack/react-router";
import { type DragEvent, type FormEvent, useId, useState } from "react";
import { Checks } from "../../parts/Checks.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/talk.css";
import { text } from "../../text.ts";
import { type Verified, verifyText } from "./verify.ts";

export function Receipts() {
  useTitle(text.receipts.title);
  const { session } = useSession();
  const [content, setContent] = useState("");
  const [ownKeys, setOwnKeys] = useState<string | null>(null);
  const [verified, setVerified] = useState<Verified | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ids = { paste: useId(), keys: useId(), own: useId(), help: useId() };
  const verify = (given: string) => {
    setVerified(null);
    setError(null);
    verifyText(given, ownKeys).then(setVerified, setError);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    verify(content);
  };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    const given = await file.text();
    setContent(given);
    verify(given);
  };
  return (
    <main className="page">
      <div className="page__head">
        <h1>{text.receipts.title}</h1>
        {may(session, "receipts:read") && (
          <Link to="/receipts/chain" search={{}} className="button">
            {text.receipts.walk.open}
          </Link>
        )}
      </div>
      <p className="quiet">{text.receipts.intro}</p>
      <form className="verify" onSubmit={submit}>
        <Drop onFile={(file) => void read(file)} />
        <div className="field">
          <label htmlFor={ids.paste}>{text.receipts.paste}</label>
          <textarea
            id={ids.paste}
            rows={5}
            className="mono"
            spellCheck={false}
            required
            value={content}
            onChange={({ target }) => setContent(target.value)}
          />
        </div>
        <div className="field">
          <label htmlFor={ids.keys}>{text.receipts.keys}</label>
          <select
            id={ids.keys}
            aria-describedby={ids.help}
            value={ownKeys === null ? "server" : "own"}
            onChange={({ target }) => setOwnKeys(target.value === "own" ? "" : null)}
          >
            <option value="server">{text.receipts.keysServer}</option>
            <option value="own">{text.receipts.keysOwn}</option>
          </select>
          <p id={ids.help} className="field__help">
            {text.receipts.keysHelp}
          </p>
        </div>
        {ownKeys !== null && (
          <div className="field">
            <label htmlFor={ids.own}>{text.receipts.keysPaste}</label>
            <textarea
              id={ids.own}
              rows={4}
              className="mono"
              spellCheck={false}
              required
              value={ownKeys}
              onChange={({ target }) => setOwnKeys(target.value)}
            />
          </div>
        )}
        <button type="submit" className="button button--primary">
          {text.receipts.verify}
        </button>
      </form>
      <div className="verify" role="status">
        {error !== null && <ErrorNote error={error} />}
        {verified !== null && <Result verified={verified} />}
      </div>
    </main>
  );
}

function Drop({ onFile }: { onFile(file: File | undefined): void }) {
  const [isOver, setOver] = useState(false);
  const id = useId();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files[0]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can be chosen in it as well
    <div
      className={isOver ? "verify__drop verify__drop--over" : "verify__drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>{text.receipts.drop}</p>
      <div className="field">
        <label htmlFor={id}>{text.receipts.choose}</label>
        <input
          id={id}
          type="file"
          accept=".json,.jsonl,application/json"
          onChange={({ target }) => onFile(target.files?.[0])}
        />
      </div>
    </div>
  );
}

function Result({ verified }: { verified: Verified }) {
  if (verified.kind === "chain") {
    const { valid, receipts, failures } = verified.report;
    return (
      <>
        <p className={`verdict verdict--${valid ? "approved" : "denied"}`}>
          {text.receipts.chain(receipts)}.{" "}
          {valid ? text.receipts.chainValid : text.receipts.chainFailed(failures.length)}
        </p>
        {failures.map(({ index, verification }) => (
          <section key={index} className="receipt">
            <h2>{`${index + 1}: ${verification.reason ?? ""}`}</h2>
            <Checks checks={verification.checks} />
          </section>
        ))}
      </>
    );
  }
  const { verification, receipt } = verified;
  return (
    <div className="receipt">
      <p className={`verdict verdict--${verification.valid ? "approved" : "denied"}`}>
        {verification.valid ? text.receipts.valid : `${text.receipts.notValid}: ${verification.reason ?? ""}`}
      </p>
      <Checks checks={verification.checks} />
      <Json value={receipt} open={2} />
    </div>
  );
}
