import { WorkerEntrypoint } from 'cloudflare:workers';

/**
 * The variables and secrets of the Worker that answers requests, for the one in the background. They are set in one place, so
 * that the two never differ. Only Workers of the same account that bind this entrypoint can ask; requests never reach it.
 */
export class Variables extends WorkerEntrypoint {
  all(): Record<string, string> {
    const texts = Object.entries(this.env as object).filter(([, value]) => typeof value === 'string');
    return Object.fromEntries(texts);
  }
}

/** The binding of the background Worker to the entrypoint. */
export interface WithApiVariables {
  API_VARIABLES: Service<Variables>;
}

let cachedEnvironment: { text: string; env: object } | undefined;

/** A background Worker's environment with the API's variables, asked each time; the same object while unchanged. */
export async function withVariables<E extends WithApiVariables>(env: E): Promise<E> {
  const variables: Record<string, string> = await env.API_VARIABLES.all();
  const text = JSON.stringify(variables);
  if (cachedEnvironment?.text !== text) cachedEnvironment = { text, env: { ...env, ...variables } };
  return cachedEnvironment.env as E;
}
