import { arrow, box, text, type Drawing } from "./drawing.ts";

/** What is made from what, and who uses it. */
export const architecture: Drawing = {
  name: "architecture",
  width: 720,
  height: 330,
  description:
    "spec, written by hand, is the only source. npm run generate makes generated from it: types, the bundled contract " +
    "and the documentation. server, client and conformance import generated, and nothing from each other. A merchant's " +
    "program imports the client. Conformance judges any deployment. A live server moves money over a rail.",
  body: [
    box(250, 10, 220, 52, "spec/", ["the contract, by hand"]),
    arrow(360, 62, 360, 94),
    text(372, 82, "npm run generate", "mono soft"),
    box(210, 96, 300, 52, "generated/", ["types, contract, documentation"]),
    arrow(260, 148, 130, 180),
    arrow(360, 148, 360, 180),
    arrow(460, 148, 590, 180),
    box(30, 182, 200, 52, "client/", ["never pays twice"]),
    box(260, 182, 200, 52, "server/", ["sandbox and live"]),
    box(490, 182, 200, 52, "conformance/", ["verdicts with evidence"]),
    arrow(130, 300, 130, 236),
    text(142, 272, "imports", "soft"),
    arrow(360, 234, 360, 298),
    text(372, 272, "pays over", "soft"),
    arrow(590, 234, 590, 298),
    text(602, 272, "judges", "soft"),
    text(130, 318, "a merchant's program", "middle strong"),
    text(360, 318, "a rail", "middle strong"),
    text(590, 318, "any deployment", "middle strong"),
  ],
};
