static uint64_t lg_cluster_size(const lg_variant *variant)
{
    return (uint64_t)variant->cluster[0] * variant->cluster[1] * variant->cluster[2];
}
