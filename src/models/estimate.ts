/** A rough count of tokens, for where nobody counts exactly: budgets before a call, and providers that say nothing after it. */

import type { ModelMessage } from "./messages.ts";
import type { ModelCall } from "./model.ts";

/** About right for English and code; other languages have more tokens. */
const charactersPerToken = 4;
/** What a large picture comes to with most providers. */
const tokensPerImage = 1500;
/** What a message costs beside its words. */
const tokensPerMessage = 4;

export function tokensOfText(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

export function tokensOfMessages(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensPerMessage + tokensOfContent(message.content), 0);
}

/** All that goes to the model: messages, tools, the schema of the answer. */
export function tokensOfCall({ messages, tools = [], output }: ModelCall): number {
  const beside = [...tools, ...(output === undefined ? [] : [output])];
  return beside.reduce((sum, part) => sum + tokensOfText(JSON.stringify(part)), tokensOfMessages(messages));
}

export function tokensOfContent(content: ModelMessage["content"]): number {
  if (typeof content === "string") return tokensOfText(content);
  return content.reduce((sum, part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return sum + tokensOfText(part.text);
      case "file":
        // Base64 has four characters for three bytes, and a text file about one byte a character.
        return sum + (part.mediaType.startsWith("image/") ? tokensPerImage : tokensOfText(part.data.data));
      case "tool-call":
        return sum + tokensOfText(part.toolName + JSON.stringify(part.input));
      case "tool-result":
        return sum + tokensOfText(JSON.stringify(part.output));
    }
    return sum;
  }, 0);
}
