/** Calls a Durable Object, and again where the platform says that a retry helps: the call must be idempotent. */
export async function callObject<T extends Rpc.DurableObjectBranded | undefined, A>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  call: (object: DurableObjectStub<T>) => Promise<A>,
): Promise<A> {
  try {
    return await call(namespace.getByName(name));
  } catch (error) {
    // The platform marks its own failures by these.
    const { retryable, overloaded } = Object(error) as { retryable?: boolean; overloaded?: boolean };
    if (retryable !== true || overloaded === true) throw error;
    // A stub that failed stays broken: this one is new.
    return call(namespace.getByName(name));
  }
}

/** Reads all rows of a query in a Durable Object at once: no cursor stays open. */
export const selectRows = <R extends object>(sql: SqlStorage, query: string, ...parameters: SqlStorageValue[]): R[] =>
  sql.exec<R & Record<string, SqlStorageValue>>(query, ...parameters).toArray();
