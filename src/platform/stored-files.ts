/** Most keys of one deletion: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ */
const KEYS_PER_BATCH = 1_000;

/** Deletes any number of objects, also none; keys without an object are no error. */
export async function deleteObjects(bucket: Pick<R2Bucket, 'delete'>, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += KEYS_PER_BATCH) {
    await bucket.delete(keys.slice(from, from + KEYS_PER_BATCH));
  }
}

/** Lists the keys under a prefix, page by page. Objects of a page may be deleted before the next. */
export async function* listKeys(bucket: R2Bucket, prefix: string): AsyncGenerator<string[]> {
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix, ...(cursor !== undefined && { cursor }) });
    yield page.objects.map(({ key }) => key);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

/** Deletes all objects under a prefix; multipart uploads that notes among them name are aborted first. */
export async function deleteByPrefix(bucket: R2Bucket, prefix: string): Promise<void> {
  for (let hasMore = true; hasMore; ) {
    const { objects, truncated } = await bucket.list({ prefix });
    const keys = objects.map(({ key }) => key);
    await abortNotedUploads(bucket, keys);
    await deleteObjects(bucket, keys);
    hasMore = truncated;
  }
}

/** The suffix of the key of a note that names an unfinished multipart upload: no list of objects shows such an upload. */
const UPLOAD_NOTE_SUFFIX = '/upload-under-way';

/** Begins a multipart upload, noted below `folder` until the note is deleted; aborts one noted there before. */
export async function beginMultipartUpload(
  bucket: R2Bucket,
  folder: string,
  key: string,
  options: R2MultipartOptions,
): Promise<R2MultipartUpload> {
  await abortNotedUploads(bucket, [folder + UPLOAD_NOTE_SUFFIX]);
  const upload = await bucket.createMultipartUpload(key, options);
  await bucket.put(folder + UPLOAD_NOTE_SUFFIX, JSON.stringify({ key, uploadId: upload.uploadId }));
  return upload;
}

/** Aborts the unfinished uploads named by the notes among these objects. An upload that has ended is no error. */
export async function abortNotedUploads(bucket: R2Bucket, objectKeys: readonly string[]): Promise<void> {
  for (const noteKey of objectKeys.filter((key) => key.endsWith(UPLOAD_NOTE_SUFFIX))) {
    const note = await (await bucket.get(noteKey))?.json<{ key: string; uploadId: string }>();
    if (!note) continue;
    await bucket
      .resumeMultipartUpload(note.key, note.uploadId)
      .abort()
      .catch((error) => {
        if (!String(error).includes(NO_SUCH_UPLOAD_CODE)) throw error;
      });
  }
}

/** R2's error code for an unknown multipart upload: https://developers.cloudflare.com/r2/api/error-codes/ */
const NO_SUCH_UPLOAD_CODE = '(10024)';
