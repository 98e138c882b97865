/** A code from the operator, and a fingerprint that both compare: what lies between them could exchange the keys, and not this. */

import type { Approver, PairingOffer } from "bridle/approver";
import { type FormEvent, useEffect, useId, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { text } from "../../text.ts";

/** In groups that can be read out. */
export function inFours(hex: string): string {
  return hex.match(/.{1,4}/g)?.join(" ") ?? "";
}

export function Fingerprint({ approver }: { approver: Approver }) {
  const [fingerprint, setFingerprint] = useState("");
  useEffect(() => {
    let isGone = false;
    void approver.fingerprint().then((found) => {
      if (!isGone) setFingerprint(found);
    });
    return () => {
      isGone = true;
    };
  }, [approver]);
  return (
    <div>
      <h3>{text.approvals.fingerprint}</h3>
      <p className="fingerprint">{inFours(fingerprint)}</p>
      <p className="quiet">{text.approvals.fingerprintHelp}</p>
    </div>
  );
}

export function Pairing({ approver, onPaired }: { approver: Approver; onPaired(): void }) {
  const [offer, setOffer] = useState<PairingOffer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [id, helpId] = [useId(), useId()];
  const attempt = (act: () => Promise<void>) => {
    setError(null);
    act().catch(setError);
  };
  const find = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get("code") ?? "")
      .replaceAll(/[\s-]/g, "")
      .toUpperCase();
    attempt(async () => setOffer(await approver.pair(code)));
  };
  if (offer !== null) {
    return (
      <Offer offer={offer} error={error} onPair={() => attempt(() => offer.complete().then(onPaired))} />
    );
  }
  return (
    <form className="signed__form" onSubmit={find}>
      <div className="field">
        <label htmlFor={id}>{text.approvals.code}</label>
        <input
          id={id}
          name="code"
          className="mono"
          required
          autoComplete="off"
          spellCheck={false}
          aria-describedby={helpId}
        />
        <p id={helpId} className="field__help">
          {text.approvals.codeHelp}
        </p>
      </div>
      {error !== null && <ErrorNote error={error} />}
      <button type="submit" className="button">
        {text.approvals.findCode}
      </button>
    </form>
  );
}

function Offer({ offer, error, onPair }: { offer: PairingOffer; error: unknown; onPair(): void }) {
  const { enforcerLabel, enforcerId, workspaceName, enforcerFingerprint } = offer;
  return (
    <div className="signed__form">
      <dl className="facts">
        <div>
          <dt>{text.approvals.offer}</dt>
          <dd>{printable(enforcerLabel ?? enforcerId)}</dd>
        </div>
        {workspaceName !== null && (
          <div>
            <dt>{text.approvals.workspace}</dt>
            <dd>{printable(workspaceName)}</dd>
          </div>
        )}
        {enforcerFingerprint !== null && (
          <div>
            <dt>{text.approvals.enforcerFingerprint}</dt>
            <dd className="mono">{inFours(enforcerFingerprint)}</dd>
          </div>
        )}
      </dl>
      <p className="quiet">{text.approvals.offerHelp}</p>
      {error !== null && <ErrorNote error={error} />}
      <button type="button" className="button button--primary" onClick={onPair}>
        {text.approvals.pair}
      </button>
    </div>
  );
}
