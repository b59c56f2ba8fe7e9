/* What each sanitizer has to report, for a Python that calls these. */

#include <Python.h> /* PyBytes_FromStringAndSize */

#include <stdlib.h> /* calloc */

int fine(int number);
int heap_overflow(int number);
int signed_overflow(int number);
int large_conversion(int number);
int freed_object(int number);
int data_race(int number);

int fine(int number)
{
    return number / 2;
}

int heap_overflow(int number)
{
    char *bytes = calloc((size_t)number, 4);
    const char found = bytes == NULL ? 0 : bytes[4 * number];
    free(bytes);
    return found;
}

int signed_overflow(int number)
{
    return number + 2147483647;
}

int large_conversion(int number)
{
    return (int)(number * 1e10);
}

int freed_object(int number)
{
    PyObject *object = PyBytes_FromStringAndSize(NULL, 100 + number);
    Py_XDECREF(object);
    return object != NULL && Py_TYPE(object) == &PyBytes_Type;
}

static volatile int shared;

int data_race(int number)
{
    for (int i = 0; i < 10000000; i++)
        shared = number + i;
    return shared;
}
