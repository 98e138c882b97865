/** What the agent made. A preview is data that this page shows, never a document that the browser opens. */

import { useQuery } from "@tanstack/react-query";
import type { Artifact, Content } from "bridle/client";
import { lazy, Suspense, useEffect, useState } from "react";
import { Diff } from "../../parts/Diff.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { Json } from "../../parts/Json.tsx";
import { LongText, printable } from "../../parts/LongText.tsx";
import { saveBytes } from "../../parts/save.ts";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { readCsv } from "./csv.ts";
import { size } from "./words.ts";

const Markdown = lazy(() => import("../../parts/Markdown.tsx"));

const previewBytesMax = 2_000_000;
/** Pictures that hold no script. */
const pictures = /^image\/(png|jpeg|gif|webp|avif)$/;

export default function Artifacts({ artifacts }: { artifacts: ReadonlyMap<string, Artifact> }) {
  if (artifacts.size === 0) {
    return (
      <Empty title={text.run.noArtifacts}>
        <p>{text.run.noArtifactsHelp}</p>
      </Empty>
    );
  }
  return (
    <ul className="artifacts">
      {[...artifacts.values()].map((artifact) => (
        <ArtifactItem key={artifact.id} artifact={artifact} />
      ))}
    </ul>
  );
}

function ArtifactItem({ artifact }: { artifact: Artifact }) {
  const [isOpen, setOpen] = useState(false);
  const { id, name, mime_type, bytes, complete } = artifact;
  return (
    <li className="artifact">
      <div className="artifact__head">
        <span className="artifact__name">
          <bdi>{printable(name ?? id)}</bdi>
        </span>
        <span className="quiet">
          {mime_type} · {complete ? size(bytes ?? 0) : text.run.streaming}
        </span>
        {complete && (
          <span className="artifact__actions">
            <button type="button" className="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {text.run.preview}
            </button>
            <button type="button" className="button" onClick={() => void download(artifact)}>
              <Icon name="download" />
              {text.run.download}
            </button>
          </span>
        )}
      </div>
      {isOpen &&
        ((bytes ?? 0) > previewBytesMax ? (
          <p className="quiet">{text.run.tooLarge(size(bytes ?? 0))}</p>
        ) : (
          <Preview artifact={artifact} />
        ))}
    </li>
  );
}

function Preview({ artifact: { id, name, mime_type } }: { artifact: Artifact }) {
  const { data, error } = useQuery({
    queryKey: ["artifact", id],
    queryFn: ({ signal }) => bridle.artifacts.download(id, { signal, bytesMax: previewBytesMax }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="quiet">{text.loading}</p>;
  const type = mime_type.replace(/;.*$/, "").trim().toLowerCase();
  return (
    <div className="artifact__preview">
      <Suspense fallback={<p className="quiet">{text.loading}</p>}>
        <Shown content={data} type={type} name={name ?? ""} />
      </Suspense>
    </div>
  );
}

function Shown({ content, type, name }: { content: Content; type: string; name: string }) {
  if (pictures.test(type)) return <Picture content={content} type={type} name={name} />;
  const isText = /^text\/|[/+](json|xml|yaml|csv|javascript)$/.test(type);
  if (!isText) return <p className="quiet">{text.run.noPreview}</p>;
  const words = new TextDecoder().decode(content.bytes);
  if (/\.(diff|patch)$/.test(name) || type === "text/x-diff") return <Diff value={words} />;
  if (type === "text/markdown") return <Markdown value={words} />;
  if (type === "text/csv") return <Csv value={words} />;
  if (/[/+]json$/.test(type)) {
    try {
      return <Json value={JSON.parse(words)} open={3} />;
    } catch {
      // Then it is shown as it is.
    }
  }
  return (
    <pre>
      <LongText value={words} />
    </pre>
  );
}

function Picture({ content: { bytes }, type, name }: { content: Content; type: string; name: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url === null ? null : <img src={url} alt={name} />;
}

const rowsMax = 500;

function Csv({ value }: { value: string }) {
  const [head, ...rows] = readCsv(value, rowsMax + 1);
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            {head?.map((cell, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have their order
              <th key={n}>{printable(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have their order
            <tr key={n}>
              {row.map((cell, m) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={m}>{printable(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

async function download({ id, name }: Artifact): Promise<void> {
  const { bytes } = await bridle.artifacts.download(id);
  saveBytes(name ?? id, bytes);
}
