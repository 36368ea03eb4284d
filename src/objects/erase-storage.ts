/** Deletes all that an object has on disk, its alarm too. An object without any is none. */
export async function eraseStorage(storage: DurableObjectStorage): Promise<void> {
  await storage.deleteAlarm();
  await storage.deleteAll();
}
