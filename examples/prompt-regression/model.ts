/** Stands in for the model, so that nothing here needs a key: what it would say to either prompt, by message. */

import { createModels, type ModelSource } from "bridle";
import { type ModelScript, scripted } from "bridle/testing";
import { tickets } from "./tickets.ts";

const said: Record<string, { long: string; brief: string }> = {
  refund: {
    long: "The customer, Ada, writes about her order A-1042, which arrived with a broken lid. She is unhappy, would like her money back, and thanks us.",
    brief: "Gold customer wants a refund for A-1042: broken lid.",
  },
  address: {
    long: "The customer has moved and asks politely whether order B-7, which has not been shipped yet, can still go to a new address in Berlin, Lindenstraße 5.",
    brief: "Basic customer wants B-7 sent to a new address: Lindenstraße 5, Berlin.",
  },
  invoice: {
    long: "Somebody from accounting at a company writes in a formal tone that they would need an invoice with their VAT number for order C-310, by Friday.",
    brief: "Wants an invoice with their VAT number for C-310 by Friday.",
  },
};

export const script: ModelScript = ({ prompt, messages }) => {
  const ticket = tickets.find(({ text }) => prompt.startsWith(text));
  const { long, brief } = said[ticket?.name ?? ""] ?? { long: "I do not know this.", brief: "Unknown." };
  return JSON.stringify(messages[0]).includes("one sentence") ? brief : long;
};

/** A real one where `BRIDLE_MODEL` names it. */
export const models: ModelSource = process.env.BRIDLE_MODEL === undefined ? scripted(script) : createModels();
