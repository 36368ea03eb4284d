import { WorkerEntrypoint } from 'cloudflare:workers';

/**
 * The entrypoint that gives the variables and secrets of the API Worker to the background Worker. They are set in one place, so
 * that the two never differ. Only Workers of the same account that bind this entrypoint can call it; requests never reach it.
 */
export class Variables extends WorkerEntrypoint {
  all(): Record<string, string> {
    const textVariables = Object.entries(this.env as object).filter(([, value]) => typeof value === 'string');
    return Object.fromEntries(textVariables);
  }
}

/** The binding of the background Worker to the entrypoint. */
export interface ApiVariablesBinding {
  API_VARIABLES: Service<Variables>;
}

let cachedEnvironment: { text: string; env: object } | undefined;

/**
 * Adds the API Worker's variables, read each time, to a background Worker's environment; returns the same object while they are
 * unchanged.
 */
export async function addApiVariables<E extends ApiVariablesBinding>(env: E): Promise<E> {
  const variables: Record<string, string> = await env.API_VARIABLES.all();
  const text = JSON.stringify(variables);
  if (cachedEnvironment?.text !== text) cachedEnvironment = { text, env: { ...env, ...variables } };
  return cachedEnvironment.env as E;
}
