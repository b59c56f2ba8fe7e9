/* A fork copies locks as they are, held or not, and the driver answers nothing in a child of a
 * process that has used it. So the first process to ask for the driver is the only one. */
static int lg_process;

#define LG_FORKED \
    "the driver does not work in a process that was forked after its first use: fork before it, " \
    "or start the process anew"

LG_COLD
static void lg_claim_process(void)
{
    int none = 0;
    (void)__atomic_compare_exchange_n(&lg_process, &none, (int)getpid(), 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

/* A driver that was not found was not used either. */
LG_COLD
static void lg_unclaim_process(void)
{
    __atomic_store_n(&lg_process, 0, __ATOMIC_RELAXED);
}

/* Refused in a forked child: what it would wait for is a thread of its parent's. */
LG_COLD
static int lg_lock(const char *kernel, pthread_mutex_t *mutex)
{
    const int process = __atomic_load_n(&lg_process, __ATOMIC_RELAXED);
    if (process != 0 && process != (int)getpid())
        return lg_refuse(LG_ERROR_NOT_INITIALIZED, "%s: " LG_FORKED, kernel);
    (void)pthread_mutex_lock(mutex);
    return LG_SUCCESS;
}
