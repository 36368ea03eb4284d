import type { CompanyContext } from '../../../context.ts';
import type { Content, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { Failure } from '../../../kernel/failure.ts';
import type { CheckResult, ResourceDefinition } from './definition.ts';
import type { Resource } from './reading.ts';
import { setValidationErrors } from './store.ts';

/** The maximum number of checks of a resource whose tables change during each check. */
const MAX_CHECKS = 5;

/**
 * Checks this version of a resource and records the errors; repeats this if tables changed meanwhile, so that even with
 * concurrent checks the last recorded errors are current. A newer version has its own check. @returns the errors recorded last
 */
export async function recordCheck(
  ctx: CompanyContext,
  resource: Resource,
  runCheck: () => Promise<CheckResult>,
): Promise<ValidationError[]> {
  for (let count = 1; ; count += 1) {
    const { errors, isCurrent } = await runCheck();
    await setValidationErrors(ctx.db, resource, errors);
    if (count === MAX_CHECKS || (await isCurrent())) return errors;
  }
}

/** Returns a resource that was just written, checked again if a table changed between its check and the write. */
export async function recheckIfOutdated<C extends Content>(
  ctx: CompanyContext,
  { check }: ResourceDefinition<C>,
  resource: Resource<C>,
  finishedCheck: CheckResult | undefined,
): Promise<Resource<C>> {
  if (!check || !finishedCheck || (await finishedCheck.isCurrent())) return resource;
  return { ...resource, validationErrors: await recordCheck(ctx, resource, () => check(ctx, resource.content)) };
}

/** The first pause while the company's database cannot be reached; each further pause is twice as long. */
const MIN_PAUSE_SECONDS = 60;
/** The maximum pause while the company's database cannot be reached. */
const MAX_PAUSE_SECONDS = 3_600;
/** The maximum number of pauses, about a day, after which a message goes to the dead-letter queue. */
export const MAX_PAUSES = 30;

export const computePauseSeconds = (tryCount: number): number =>
  Math.min(MIN_PAUSE_SECONDS * 2 ** tryCount, MAX_PAUSE_SECONDS);

/** Tells whether an error means only that the company's database cannot be reached. */
export const isDatabaseUnreachable = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'unavailable';
