/** R2 takes 1 to 1,000 keys at once: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/ */
const KEYS_PER_BATCH = 1_000;

/** Deletes any number of objects, none included; keys of which there is no object are no error. */
export async function deleteObjects(bucket: Pick<R2Bucket, 'delete'>, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += KEYS_PER_BATCH) {
    await bucket.delete(keys.slice(from, from + KEYS_PER_BATCH));
  }
}

/** The end of the key of a note that names an unfinished upload in parts: no list of objects shows one. */
const UPLOAD_NOTE_SUFFIX = '/upload-under-way';

/** Begins an upload in parts, noted below `folder` until that is deleted. One that was noted there before is abandoned. */
export async function beginUpload(
  bucket: R2Bucket,
  folder: string,
  key: string,
  options: R2MultipartOptions,
): Promise<R2MultipartUpload> {
  await abandonUploads(bucket, [folder + UPLOAD_NOTE_SUFFIX]);
  const upload = await bucket.createMultipartUpload(key, options);
  await bucket.put(folder + UPLOAD_NOTE_SUFFIX, JSON.stringify({ key, uploadId: upload.uploadId }));
  return upload;
}

/** Abandons the uploads that these objects, of all kinds, note. One that has ended is no error. */
export async function abandonUploads(bucket: R2Bucket, objects: readonly string[]): Promise<void> {
  for (const noted of objects.filter((key) => key.endsWith(UPLOAD_NOTE_SUFFIX))) {
    const note = await (await bucket.get(noted))?.json<{ key: string; uploadId: string }>();
    if (!note) continue;
    await bucket
      .resumeMultipartUpload(note.key, note.uploadId)
      .abort()
      .catch((error) => {
        if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
      });
  }
}

/** R2's code for it: https://developers.cloudflare.com/r2/api/error-codes/ */
const NO_SUCH_UPLOAD = '(10024)';
