/** Messages to try the prompts on, and what a summary of each must not leave out. */

export interface Ticket {
  name: string;
  text: string;
  facts: RegExp[];
}

export const tickets: Ticket[] = [
  {
    name: "refund",
    text: "Hello, this is ada@example.com. My order A-1042 came with a broken lid, and I am quite unhappy about it. I would like my money back. Thanks, Ada",
    facts: [/A-1042/, /refund|money back/i],
  },
  {
    name: "address",
    text: "Hi! I have moved. Can you still send order B-7 to Lindenstraße 5 in Berlin instead? It has not been shipped yet, your site says. ben@example.com",
    facts: [/B-7/, /address|Lindenstraße/i],
  },
  {
    name: "invoice",
    text: "To whom it may concern: our accounting needs an invoice with our VAT number for order C-310, by Friday if at all possible.",
    facts: [/C-310/, /invoice/i],
  },
];
