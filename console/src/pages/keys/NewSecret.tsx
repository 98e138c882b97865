import type { ApiKey } from "bridle/client";
import { Copy } from "../../parts/Copy.tsx";
import { text } from "../../text.ts";

/** Of a key that was just made or rotated. */
export function NewSecret({ apiKey, onClose }: { apiKey: Pick<ApiKey, "key">; onClose(): void }) {
  const secret = apiKey.key ?? "";
  return (
    <>
      <p>{text.keys.createdHelp}</p>
      <p className="command key__secret">
        <code>{secret}</code>
        <Copy value={secret} label={text.keys.copy} />
      </p>
      <div className="dialog__actions">
        <button type="button" className="button button--primary" onClick={onClose}>
          {text.close}
        </button>
      </div>
    </>
  );
}
