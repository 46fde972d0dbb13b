/* The least a process can do: what starting any process costs here. */
int main(void) {
  return 0;
}
