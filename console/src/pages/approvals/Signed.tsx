/** This browser as the device of an approver: paired once, it opens what is sealed for it and signs what its person decides. */

import { Approver } from "bridle/approver";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Dialog } from "../../parts/Dialog.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { sessionFetch } from "../../server/session.ts";
import { text } from "../../text.ts";
import { createDevice, type Device, forgetDevice, loadDevice, saveDevice } from "./device.ts";
import { Inbox } from "./Inbox.tsx";
import { Fingerprint, Pairing } from "./Pairing.tsx";

export default function Signed({ approverId }: { approverId: string }) {
  /** Undefined until it was looked for. */
  const [device, setDevice] = useState<Device | null>();
  const [error, setError] = useState<unknown>(null);
  const attempt = useCallback((act: () => Promise<Device | null>) => {
    setError(null);
    act().then(setDevice, setError);
  }, []);
  useEffect(() => attempt(() => loadDevice(approverId)), [attempt, approverId]);
  const approver = useMemo(
    () =>
      device == null
        ? null
        : new Approver({
            url: `${location.origin}/harp`,
            key: "session",
            approverId,
            keys: device.keys,
            fetch: sessionFetch,
          }),
    [approverId, device],
  );
  return (
    <section className="approvals signed" aria-label={text.approvals.signed}>
      <h2>{text.approvals.signed}</h2>
      <p className="quiet">{text.approvals.signedHelp(approverId)}</p>
      {error !== null && <ErrorNote error={error} />}
      {device === null && (
        <div className="signed__box">
          <p>{text.approvals.createHelp}</p>
          <button
            type="button"
            className="button button--primary"
            onClick={() => attempt(() => createDevice(approverId))}
          >
            {text.approvals.createKeys}
          </button>
        </div>
      )}
      {approver !== null && device != null && (
        <>
          {device.isPaired && <Inbox approver={approver} />}
          <Keys
            {...{ approver, device }}
            onPaired={() => attempt(() => saveDevice(approverId, { ...device, isPaired: true }))}
            onForget={() =>
              attempt(async () => {
                await forgetDevice(approverId);
                return null;
              })
            }
          />
        </>
      )}
    </section>
  );
}

interface KeysProps {
  approver: Approver;
  device: Device;
  onPaired(): void;
  onForget(): void;
}

function Keys({ approver, device, onPaired, onForget }: KeysProps) {
  const [isForgetting, setForgetting] = useState(false);
  return (
    <details className="signed__box" open={!device.isPaired}>
      <summary>{device.isPaired ? text.approvals.paired : text.approvals.fingerprint}</summary>
      <Fingerprint approver={approver} />
      <Pairing approver={approver} onPaired={onPaired} />
      <button type="button" className="button button--danger" onClick={() => setForgetting(true)}>
        {text.approvals.forget}
      </button>
      {isForgetting && (
        <Dialog title={text.approvals.forgetTitle} onClose={() => setForgetting(false)}>
          <p>{text.approvals.forgetHelp}</p>
          <div className="dialog__actions">
            <button type="button" className="button" onClick={() => setForgetting(false)}>
              {text.close}
            </button>
            <button type="button" className="button button--danger" onClick={onForget}>
              {text.approvals.forget}
            </button>
          </div>
        </Dialog>
      )}
    </details>
  );
}
