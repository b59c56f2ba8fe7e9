/* Too large a value becomes infinity, as in every conversion of a GPU. */
static int lg_bf16_from_double(double value, uint16_t *bits)
{
    *bits = lg_round_double(value, 7, 127);
    return 1;
}
