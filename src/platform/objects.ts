/** What the platform says of a call that failed on its side. */
interface PlatformError {
  retryable?: boolean;
  overloaded?: boolean;
}

/**
 * Asks a Durable Object, and once more where the platform says that this helps: it was moved, or restarted. One that is
 * overloaded is left in peace. What is asked may happen twice, so it must bear that.
 */
export async function askObject<T extends Rpc.DurableObjectBranded | undefined, A>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  ask: (object: DurableObjectStub<T>) => Promise<A>,
): Promise<A> {
  try {
    return await ask(namespace.getByName(name));
  } catch (error) {
    const { retryable, overloaded } = Object(error) as PlatformError;
    if (retryable !== true || overloaded === true) throw error;
    // A stub that failed stays broken: this one is new.
    return ask(namespace.getByName(name));
  }
}
