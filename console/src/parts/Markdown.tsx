/**
 * Markdown as elements, never as HTML: a parser says what a text consists of, and whatever it does not say is text. Links are marked as
 * leading elsewhere; pictures are links, since nothing is loaded from elsewhere.
 */

import { Lexer, type Token, type Tokens } from "marked";
import { type ReactNode, useMemo } from "react";
import { printable } from "./LongText.tsx";

/** Beyond this the structure of a text is not looked for. */
const charsMax = 100_000;

export default function Markdown({ value }: { value: string }) {
  const tokens = useMemo(
    () => (value.length > charsMax ? null : new Lexer({ gfm: true }).lex(printable(value))),
    [value],
  );
  if (tokens === null) return <pre className="long">{printable(value.slice(0, charsMax))}</pre>;
  return <div className="markdown">{all(tokens)}</div>;
}

function all(tokens: readonly Token[] | undefined): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: a text has its parts in the order of the text
  return (tokens ?? []).map((token, n) => <Part key={n} token={token} />);
}

function Part({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      // Headings of agents do not take part in those of the page.
      return <p className="markdown__heading">{all(token.tokens)}</p>;
    case "paragraph":
      return <p>{all(token.tokens)}</p>;
    case "strong":
      return <strong>{all(token.tokens)}</strong>;
    case "em":
      return <em>{all(token.tokens)}</em>;
    case "del":
      return <del>{all(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{all(token.tokens)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "link":
      return <Away href={token.href}>{all(token.tokens)}</Away>;
    case "image":
      return <Away href={token.href}>{token.text || token.href}</Away>;
    case "text":
      return "tokens" in token && token.tokens !== undefined ? all(token.tokens) : unescaped(token);
    case "escape":
      return token.text;
    default:
      // HTML above all: it is shown, and means nothing.
      return token.raw;
  }
}

function unescaped(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}

function List({ list }: { list: Tokens.List }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: as above
  const items = list.items.map((item, n) => <li key={n}>{all(item.tokens)}</li>);
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above
              <th key={n}>{all(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <tr key={n}>
              {row.map((cell, m) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={m}>{all(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Away({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(https?|mailto):/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  );
}
