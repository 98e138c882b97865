/** HTML as a model reads it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { htmlText } from "./html-text.ts";

test("TOL-4 reduces a page to its text, without tags, scripts, styles and comments", () => {
  // Given a page, when it is reduced, then its text is left, without tags, scripts, styles and comments.
  const page = `<!doctype html><html><head><title>Prices &amp; more</title><style>p { color: red }</style>
    <script>if (a < b) alert("</p>")</script></head>
    <body><!-- <p>hidden</p> --><h1>Prices</h1><p title="a > b">One <b>Euro</b>,
    3 < 4 &lt;always&gt; &#8364;&#x20AC; &valueOf;</p><br/><ul><li>a</li><li>b</ul></body></html>`;
  const text = "Prices & more\n\nPrices\n\nOne Euro,\n3 < 4 <always> €€ &valueOf;\n\na\n\nb";
  assert.equal(htmlText(page), text);
});

test("TOL-4 given a page that is broken, when it is reduced, then it ends, quickly, with text", () => {
  for (const [broken, text] of [
    ["<p", ""],
    ["a<!--", "a"],
    ["a<script>b", "a"],
    ['a<p title="b>c', "a"],
    ["<", "<"],
    ["&#xd800;&#0;&#9999999;", "\uFFFD\uFFFD\uFFFD"],
  ] as const)
    assert.equal(htmlText(broken), text, broken);
  for (const part of ["<", "<p", "<!--", "<script>", "&#x", '<a b="', " \n"])
    assert.equal(typeof htmlText(part.repeat((1024 * 1024) / part.length)), "string");
  const anyPage = fc.array(
    fc.constantFrom("<", ">", "/", "p", "script", "!--", "-->", '="', " ", "\n", "&", "lt;"),
  );
  fc.assert(fc.property(anyPage, (parts) => htmlText(parts.join("")).isWellFormed()));
});
