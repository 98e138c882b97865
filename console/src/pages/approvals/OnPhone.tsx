/** The way to this page on a phone, which is paired there with keys of its own. */

import { lazy, Suspense, useState } from "react";
import { Copy } from "../../parts/Copy.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { text } from "../../text.ts";

const QrCode = lazy(() => import("../../parts/QrCode.tsx"));

const words = text.approvals.phone;
/** Names and addresses that lead a phone to itself. */
const ownNames = /^(localhost|127\.[\d.]+|\[::1\])$/;

export function OnPhone() {
  const [isOpen, setOpen] = useState(false);
  const address = `${location.origin}/approvals`;
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {words.open}
      </button>
      {isOpen && (
        <Dialog title={words.title} onClose={() => setOpen(false)}>
          {ownNames.test(location.hostname) ? (
            <p className="note">{words.unreachable}</p>
          ) : (
            <p>{words.help}</p>
          )}
          <Suspense fallback={<p className="quiet">{text.loading}</p>}>
            <QrCode value={address} label={words.code(address)} />
          </Suspense>
          <p className="quiet">
            <code>{address}</code> <Copy value={address} />
          </p>
          <div className="dialog__actions">
            <button type="button" className="button" onClick={() => setOpen(false)}>
              {text.close}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
