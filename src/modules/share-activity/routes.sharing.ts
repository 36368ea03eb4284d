import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/sharing.ts';
import { toBodyFields } from '../../http/wire.ts';
import { formatIsoTimestamp, isoMillisecondsSchema, timestampSchema } from '../../kernel/fields.ts';
import { INTERVALS, isTimeZone } from '../../kernel/time-zones.ts';
import { SHARE_EVENT_TYPES, TARGET_TYPES } from '../../sharing/share-event.ts';
import { shareEventNotFound } from './failures.ts';
import { getShareEvent, listShareEvents, readShareAnalytics } from './service.ts';
import { shareEventView, viewShareEvent } from './views.ts';

const id = z.string().min(1).max(64);

const filters = {
  target_type: z.enum(TARGET_TYPES).optional(),
  share_id: id.optional(),
  share_context_id: id.optional(),
  from: isoMillisecondsSchema.optional().meta({ description: 'The earliest time, included.' }),
  to: isoMillisecondsSchema.optional().meta({ description: 'The latest time, included.' }),
};

const eventsQuery = makePageQuery('per_page').extend({ ...filters, type: z.enum(SHARE_EVENT_TYPES).optional() });
const analyticsQuery = z.object({
  ...filters,
  interval: z.enum(INTERVALS).default('day'),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be a time zone of the IANA database, such as America/Sao_Paulo')
    .default('UTC')
    .meta({ description: 'The name of an IANA time zone, whose hours, days and weeks are meant.' }),
});

const countFields = {
  resolved: z.int().meta({ description: 'How often something was opened.' }),
  executed: z.int().meta({ description: 'How often it was executed.' }),
  denied: z.int().meta({ description: 'How often a viewer was refused.' }),
};
const uniqueViewersField = z
  .int()
  .meta({ description: 'The number of distinct viewers who opened or executed something.' });
const topEntries = z.array(z.object({ key: z.string(), label: z.string(), count: z.int() }));

const analyticsView = z
  .object({
    totals: z.object(countFields),
    unique_viewers: uniqueViewersField,
    series: z.array(z.object({ start: timestampSchema, ...countFields, unique_viewers: uniqueViewersField })),
    top: z.object({ shares: topEntries, dashboards: topEntries, viewers: topEntries, countries: topEntries }),
  })
  .meta({ id: 'ShareAnalytics' });

const viewAnalytics = ({
  totals: { unique_viewers, ...totals },
  series,
  top: tops,
}: Awaited<ReturnType<typeof readShareAnalytics>>): z.input<typeof analyticsView> => ({
  totals,
  unique_viewers,
  series: series.map(({ start, ...rest }) => ({ start: formatIsoTimestamp(start), ...rest })),
  top: tops,
});

const ANY_SHARE_ACTION = ['dashboards:share', 'visualizations:share'] as const;
const SHARE_ACCESS = {
  decidedBy: 'the share permission of what the filters name; both without a filter',
  anyOf: ANY_SHARE_ACTION,
};

export const shareActivityEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/api/v1/share-events',
      access: SHARE_ACCESS,
      operationId: 'listShareEvents',
      summary: 'List share events',
      description:
        'Events of shares, share contexts, outsiders and embeds. Newest first. An event can be read a few seconds after it happened.',
      query: eventsQuery,
      returns: ok(makeListSchema(shareEventView)),
      fails: [],
    },
    async ({ ctx, query: { page, per_page: perPage, ...filter } }) =>
      viewList(await listShareEvents(ctx, toBodyFields(filter), page, perPage), viewShareEvent),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/share-events/{id}',
      access: {
        decidedBy: 'the share permission of what the event is about; both if it is about nothing',
        anyOf: ANY_SHARE_ACTION,
      },
      checkPath: (ctx, { id: eventId = '' }) => getShareEvent(ctx, eventId),
      operationId: 'getShareEvent',
      summary: 'Get a share event',
      description: 'An event about something that the caller is denied is not found.',
      returns: ok(shareEventView),
      fails: [shareEventNotFound],
    },
    async ({ ctx, params }) => viewShareEvent(await getShareEvent(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/share-analytics',
      access: SHARE_ACCESS,
      operationId: 'getShareAnalytics',
      summary: 'Get share analytics',
      description:
        'How often shares and embeds were opened, executed and denied. Without `from`, from 30 days before `to`; without `to`, until now. Intervals are those of `time_zone`; weeks begin on Monday. Where its clock changes, a day has 23 or 25 hours. `top` counts executions.',
      query: analyticsQuery,
      returns: ok(analyticsView),
      fails: [],
    },
    async ({ ctx, query: { interval, time_zone: timeZone, ...filter } }) =>
      viewAnalytics(await readShareAnalytics(ctx, toBodyFields(filter), { interval, timeZone })),
  ),
];
