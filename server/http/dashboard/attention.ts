import { listOf } from "../../actions/payments.ts";
import { ATTENTION_AFTER_MINUTES } from "../../domain/attention.ts";
import type { Handover } from "../../domain/handovers.ts";
import { whoIs } from "./audit-words.ts";
import { markup } from "./html.ts";
import { list } from "./page.ts";
import { bdi, link, small, soft, under } from "./parts.ts";
import { conflictText } from "./rail-of-payment.ts";
import { merchantNames, type View } from "./view.ts";

const ON_A_PAGE = 100;
const minutesOf = ({ context: { config } }: View) => config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
type Row = Handover & { since: number; of: string | undefined };

/**
 * Payments that need a person: their outcome is unknown for too long, or their rail contradicts a final status (D74). The
 * forms are on the payment's own page.
 */
export const attentionPage = list<Row>({
  at: "{scope}/attention",
  title: "needsAttention",
  isWhole: true,
  where: "live",
  async read(view) {
    const { merchant, context } = view;
    const found = await context.storage.listAttention({
      ...(merchant && { merchantId: merchant.id }),
      unknownBefore: context.clock.now() - minutesOf(view) * 60_000,
      limit: ON_A_PAGE,
    });
    const names = merchant ? new Map<string, string>() : await merchantNames(context, found);
    const items = found.map((each) => ({
      ...each,
      since: (each.conflict?.at ?? each.unknownSince)!,
      of: names.get(each.merchantId),
    }));
    return { items };
  },
  key: ({ payment }) => payment.reference,
  columns: (view) => [
    {
      title: "payment",
      cell: ({ payment: { reference }, merchantId, merchantsReference, of }) => [
        link(`${view.root}/m/${merchantId}/${listOf(reference)}/${reference}`, bdi(merchantsReference)),
        under(reference),
        of !== undefined && under(bdi(of)),
      ],
    },
    {
      title: "whatIsWrong",
      cell: (row) => [
        markup`<span class="badge ${row.conflict ? "failed" : "pending"}">${row.conflict ? view.t("conflict") : view.t("unknown")}</span>`,
        small(view.amount(row.payment.amount, row.payment.currency)),
        under(conflictText(row, view) ?? view.t(row.state === "accepted" ? "notKnownHow" : "notKnownWhether")),
        under(view.t("railNamed", { rail: row.rail })),
        row.proposal &&
          under(
            view.rich("waitsForSecond", {
              by: whoIs(row.proposal.by, view),
              status: view.word("status", row.proposal.status),
            }),
          ),
        small(view.rich("sinceTime", { time: view.stamp(row.since, "minute") })),
      ],
    },
    { title: "amount", class: "number wide", cell: ({ payment }) => view.amount(payment.amount, payment.currency) },
    { title: "since", class: "wide", cell: ({ since }) => view.stamp(since) },
  ],
  before: (view, { items }) => items.length > 0 && soft(view.t("attentionMeans", { minutes: minutesOf(view) })),
  after: ({ t }, { items }) => items.length === ON_A_PAGE && soft(t("morePayments")),
  none: (view) =>
    markup`<h2>${view.t("nothingNeedsPerson")}</h2><p>${view.t("attentionEmpty", { minutes: minutesOf(view) })}</p>`,
});
