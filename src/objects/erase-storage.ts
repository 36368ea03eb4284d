/** Deletes everything that a Durable Object has stored, including its alarm. An object without stored data ceases to exist. */
export async function eraseStorage(storage: DurableObjectStorage): Promise<void> {
  await storage.deleteAlarm();
  await storage.deleteAll();
}
