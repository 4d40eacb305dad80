#include "queue.h"
#include "cfusetransport.h"

#include <stdlib.h>
#include <string.h>

void aclfs_queue_begin(struct queue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	queue->end = &queue->first;
}

void aclfs_queue_end(struct queue *queue)
{
	for (struct queued *next; queue->first; queue->first = next) {
		next = queue->first->next;
		free(queue->first);
	}
	queue->end = &queue->first;
	atomic_store(&queue->length, 0);
	pthread_mutex_destroy(&queue->lock);
}

static uint32_t (*_Atomic person_behind)(uint32_t uid);

void aclfs_transport_set_persons(uint32_t (*person)(uint32_t uid))
{
	atomic_store(&person_behind, person);
}

int aclfs_queue_user(uint32_t uid)
{
	uint32_t (*person)(uint32_t) = atomic_load_explicit(&person_behind, memory_order_relaxed);
	if (person)
		uid = person(uid);
	/* Neighbours differ, and so do those that are far apart. */
	return (int)(uid * 0x9E3779B1u >> 24);
}

bool aclfs_queue_add(struct queue *queue, int user, const void *message, size_t size)
{
	struct queued *added = malloc(sizeof *added + size);
	if (!added)
		return false;
	added->next = NULL;
	added->user = user;
	added->size = size;
	memcpy(added->message, message, size);
	*queue->end = added;
	queue->end = &added->next;
	atomic_fetch_add(&queue->length, 1);
	return true;
}

struct queued *aclfs_queue_take(struct queue *queue, int enough)
{
	struct queued **best = NULL;
	int fewest = 0;
	for (struct queued **place = &queue->first; *place; place = &(*place)->next) {
		int user = (*place)->user;
		int busy = atomic_load(&queue->busy_for[user]);
		bool is_better = !best || busy < fewest ||
				 (busy == fewest && queue->last_turn[user] < queue->last_turn[(*best)->user]);
		if (is_better) {
			best = place;
			fewest = busy;
		}
	}
	if (!best || (fewest > 0 && atomic_load(&queue->busy) >= enough))
		return NULL;
	struct queued *taken = *best;
	*best = taken->next;
	if (queue->end == &taken->next)
		queue->end = best;
	queue->last_turn[taken->user] = ++queue->turn;
	atomic_fetch_sub(&queue->length, 1);
	return taken;
}
