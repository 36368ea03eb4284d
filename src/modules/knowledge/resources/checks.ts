import type { CompanyContext } from '../../../context.ts';
import type { Content, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { Failure } from '../../../kernel/failure.ts';
import type { Check, Definition } from './definition.ts';
import type { Resource } from './reading.ts';
import { setValidationErrors } from './store.ts';

/** The maximum number of checks of a resource whose tables change during each check. */
const MAX_CHECKS = 5;

/**
 * Checks this version of a resource and records the errors; repeats this if tables changed meanwhile, so that with concurrent
 * checks, too, the last recorded errors are current. A newer version has its own check.
 * @returns the errors recorded last
 */
export async function recordCheck(
  ctx: CompanyContext,
  resource: Resource,
  check: () => Promise<Check>,
): Promise<ValidationError[]> {
  for (let count = 1; ; count += 1) {
    const { errors, isCurrent } = await check();
    await setValidationErrors(ctx.db, resource, errors);
    if (count === MAX_CHECKS || (await isCurrent())) return errors;
  }
}

/** A resource that was just written, checked again if a table changed between its check and the write. */
export async function recheckIfOutdated<C extends Content>(
  ctx: CompanyContext,
  { check }: Definition<C>,
  resource: Resource<C>,
  done: Check | undefined,
): Promise<Resource<C>> {
  if (!check || !done || (await done.isCurrent())) return resource;
  return { ...resource, validationErrors: await recordCheck(ctx, resource, () => check(ctx, resource.content)) };
}

/** The pause while the company's database cannot be reached; it doubles each time. */
const MIN_PAUSE_SECONDS = 60;
const MAX_PAUSE_SECONDS = 3_600;
/** The maximum number of pauses, about a day, after which a message goes to the dead-letter queue. */
export const MAX_TRIES = 30;

export const computePauseSeconds = (tries: number): number =>
  Math.min(MIN_PAUSE_SECONDS * 2 ** tries, MAX_PAUSE_SECONDS);

/** Whether an error means no more than that the company's database cannot be reached. */
export const isUnreachable = (error: unknown): boolean => error instanceof Failure && error.kind === 'unavailable';
