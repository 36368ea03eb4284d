/** R2 takes 1 to 1,000 keys at once: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ */
const KEYS_AT_ONCE = 1_000;

/** Deletes any number of objects, none included; keys of which there is no object are no error. */
export async function deleteObjects(bucket: Pick<R2Bucket, 'delete'>, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    await bucket.delete(keys.slice(from, from + KEYS_AT_ONCE));
  }
}
