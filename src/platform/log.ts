import { AsyncLocalStorage } from 'node:async_hooks';

/** The id of the request or run in progress, for each asynchronous context. */
const correlationIds = new AsyncLocalStorage<string>();

/** Runs `work` so that every line that it logs, also in asynchronous parts, has this id as `correlation_id`. */
export const runWithCorrelationId = <T>(id: string, work: () => T): T => correlationIds.run(id, work);

/** Writes one structured line for Workers Logs. `facts` are names, ids, counts and codes: never secrets or customers' data. */
export function log(event: string, facts: Record<string, unknown> = {}): void {
  console.log(formatLine(event, facts));
}

/** Logs an error with its name, message, stack and causes, which belong in the log, never in an answer. */
export function logError(event: string, error: unknown, facts: Record<string, unknown> = {}): void {
  console.error(formatLine(event, { ...facts, error: describeError(error) }));
}

/** The maximum number of nested causes that are logged. */
const MAX_CAUSES = 5;

function describeError(error: unknown, maxCauses = MAX_CAUSES): Record<string, unknown> {
  const parts = toErrorParts(error);
  const { name, message, stack, cause, code, reason } = parts;
  const safeMessage = removeSecrets(makeMessageWithoutData(parts) ?? message);
  return {
    name,
    message: safeMessage,
    ...(typeof code === 'string' && { code }),
    ...(typeof reason === 'string' && { reason }),
    stack: stack?.replace(message, () => safeMessage),
    ...(cause !== undefined && maxCauses > 0 && { cause: describeError(cause, maxCauses - 1) }),
  };
}

type ErrorParts = Pick<Error, 'name' | 'message' | 'stack' | 'cause'> & Partial<Record<string, unknown>>;

/** Reads the parts of an error. Sockets report an event, which is no Error but has a message, or holds an Error. */
function toErrorParts(error: unknown): ErrorParts {
  if (error instanceof Error) return error as ErrorParts;
  const { type, message, error: innerError } = Object(error);
  if (innerError instanceof Error) return innerError as ErrorParts;
  // Libraries attach tokens and answers to their errors: only the names of the fields are safe.
  if (typeof error === 'object' && error !== null && message === undefined && type === undefined) {
    return { name: 'Object', message: `with ${Object.keys(error).slice(0, 10).join(', ')}` };
  }
  return new Error(String(message ?? type ?? error)) as ErrorParts;
}

/** Returns the text that replaces a message which may hold data; undefined where the message is safe. */
function makeMessageWithoutData({ name, code, severity, status }: ErrorParts): string | undefined {
  // PostgreSQL's messages hold values of a statement, but none when it refuses a connection.
  if (typeof severity === 'string' && severity !== 'FATAL' && severity !== 'PANIC') return `SQLSTATE ${code}`;
  // The answer of another service.
  if (typeof status === 'number') return `status ${status}`;
  // A parser quotes the text that it could not read.
  return name === 'SyntaxError' ? 'could not be parsed' : undefined;
}

const formatLine = (event: string, facts: Record<string, unknown>): string =>
  JSON.stringify({ event, correlation_id: correlationIds.getStore(), ...facts });

/** Removes secrets from a message: the bound values that end a failed query's, and the user name of a URL. */
const removeSecrets = (message: string): string =>
  message.replace(/\nparams: .*$/s, '').replaceAll(/:\/\/[^\s/@]*@/g, '://…@');
