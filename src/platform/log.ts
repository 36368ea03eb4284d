import { AsyncLocalStorage } from 'node:async_hooks';

/** The id of the request, or of the run, that the code at hand works for. */
const correlation = new AsyncLocalStorage<string>();

/** Every line that `work` writes, and whatever it starts, carries this id as `correlation_id`. */
export const correlated = <T>(id: string, work: () => T): T => correlation.run(id, work);

/**
 * One structured line for Workers Logs. Never pass a secret, a token, a password or a row of a customer's data:
 * `facts` are names, ids, counts and codes.
 */
export function log(event: string, facts: Record<string, unknown> = {}): void {
  console.log(line(event, facts));
}

/**
 * The same for something that went wrong: the error's name, message and stack stay in the log, never in an answer, and so
 * do those of what caused it.
 */
export function logError(event: string, error: unknown, facts: Record<string, unknown> = {}): void {
  console.error(line(event, { ...facts, error: told(error) }));
}

/** How many causes of causes are told. */
const CAUSES = 5;

function told(error: unknown, causes = CAUSES): Record<string, unknown> {
  const parts = partsOf(error);
  const { name, message, stack, cause, code, reason } = parts;
  const shown = withoutSecrets(messageWithoutData(parts) ?? message);
  return {
    name,
    message: shown,
    ...(typeof code === 'string' && { code }),
    ...(typeof reason === 'string' && { reason }),
    stack: stack?.replace(message, () => shown),
    ...(cause !== undefined && causes > 0 && { cause: told(cause, causes - 1) }),
  };
}

type Parts = Pick<Error, 'name' | 'message' | 'stack' | 'cause'> & Partial<Record<string, unknown>>;

/** Sockets report by an event, which is no error but has a message, or an error of its own. */
function partsOf(error: unknown): Parts {
  if (error instanceof Error) return error as Parts;
  const { type, message, error: inner } = Object(error);
  if (inner instanceof Error) return inner as Parts;
  // What libraries hang on their errors may be tokens and answers: which members there are, not what they hold.
  if (typeof error === 'object' && error !== null && message === undefined && type === undefined) {
    return { name: 'Object', message: `with ${Object.keys(error).slice(0, 10).join(', ')}` };
  }
  return new Error(String(message ?? type ?? error)) as Parts;
}

/** What is said in place of a message that may repeat what it was about; undefined where the message may be told. */
function messageWithoutData({ name, code, severity, status }: Parts): string | undefined {
  // PostgreSQL names the values of a statement; why it refuses a connection holds none.
  if (typeof severity === 'string' && severity !== 'FATAL' && severity !== 'PANIC') return `SQLSTATE ${code}`;
  // The answer of another service.
  if (typeof status === 'number') return `status ${status}`;
  // A parser shows the text that it could not read.
  return name === 'SyntaxError' ? 'could not be parsed' : undefined;
}

function line(event: string, facts: Record<string, unknown>): string {
  return JSON.stringify({ event, correlation_id: correlation.getStore(), ...facts });
}

/**
 * drizzle's message of a failed query ends with the values that were bound: hashes, names, anything a customer keeps. An
 * address may name who signs in there.
 */
const withoutSecrets = (message: string): string =>
  message.replace(/\nparams: .*$/s, '').replaceAll(/:\/\/[^\s/@]*@/g, '://…@');
