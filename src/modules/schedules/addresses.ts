import type { Context } from '../../context.ts';
import type { Company } from '../companies/service.ts';
import type { Recipient, Schedule } from './store.ts';

/** Where our own pages are. Nobody's request leads to a mail in the background. */
export const ownPagesOf = (ctx: Context, { apiUrl }: Schedule): string =>
  (ctx.config.PUBLIC_URL ?? apiUrl).replace(/\/+$/, '');

/** Where a recipient sees what a schedule sends: outsiders in the portal. */
export const seenAt = (ctx: Context, { slug }: Company, schedule: Schedule, { kind }: Recipient): string =>
  kind === 'user' ? ctx.config.CONSOLE_URL : `${ownPagesOf(ctx, schedule)}/portal/${slug}`;
